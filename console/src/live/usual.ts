// What each task takes where nothing is given, so that lists show only what somebody chose.

import { listTasks } from "../api/calls";
import type { Task } from "../api/types";

type Params = Readonly<Record<string, unknown>>;

const PATIENCE_MS = 10_000;
const NOTHING: Params = {};

let known: ReadonlyMap<string, Params> = new Map();
let asking: Promise<void> | undefined;

/** The parameters of a task that have a default, with it. */
export const usualOf = (task: string): Params => known.get(task) ?? NOTHING;

/** Ask for the tasks unless they are known; where that fails, lists only show more than they need. */
export function knowTasks(): Promise<void> {
  asking ??= listTasks(AbortSignal.timeout(PATIENCE_MS)).then(
    ({ items }) => learnTasks(items),
    () => (asking = undefined),
  );
  return asking;
}

/** A server that was away may be back with another program. */
export function doubtTasks(): void {
  asking = undefined;
}

export function learnTasks(tasks: readonly Task[]): void {
  known = new Map(tasks.map(({ name, parameters }) => [name, defaultsIn(parameters)]));
}

function defaultsIn(schema: Task["parameters"]): Params {
  const shapes = Object.entries((schema.properties ?? {}) as Record<string, Params>);
  return Object.fromEntries(
    shapes.filter(([, shape]) => "default" in shape).map(([name, shape]) => [name, shape.default]),
  );
}

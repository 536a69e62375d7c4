// The defaults of each task's parameters, so that lists show only the values that a user chose.

import { listTasks } from "../api/calls";
import type { Task } from "../api/types";

type Params = Readonly<Record<string, unknown>>;

const PATIENCE_MS = 10_000;
const NOTHING: Params = {};

let known: ReadonlyMap<string, Params> = new Map();
let loading: Promise<void> | undefined;

/** The parameters of a task that have a default, with the default. */
export const defaultsOf = (task: string): Params => known.get(task) ?? NOTHING;

/** Load the tasks once; on failure, lists show more parameters than necessary. */
export function loadTasks(): Promise<void> {
  loading ??= listTasks(AbortSignal.timeout(PATIENCE_MS)).then(
    ({ items }) => storeTasks(items),
    () => (loading = undefined),
  );
  return loading;
}

/** Load the tasks again: a server that was away may have a new program. */
export function expireTasks(): void {
  loading = undefined;
}

export function storeTasks(tasks: readonly Task[]): void {
  known = new Map(tasks.map(({ name, parameters }) => [name, defaultsIn(parameters)]));
}

function defaultsIn(schema: Task["parameters"]): Params {
  const shapes = Object.entries((schema.properties ?? {}) as Record<string, Params>);
  return Object.fromEntries(
    shapes.filter(([, shape]) => "default" in shape).map(([name, shape]) => [name, shape.default]),
  );
}

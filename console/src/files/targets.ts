// Which tasks can be given a file and nothing else, and what else could be.

import type { Task } from "../api/types";
import { type FormField, fieldsOf } from "../forms/schema";

export interface Target {
  readonly task: string;
  readonly text: string;
  readonly queue: string;
  /** The parameter that takes the file. */
  readonly parameter: string;
  /** What may be chosen besides. A secret is not among them: it is not to be kept in a browser. */
  readonly options: readonly FormField[];
}

export function targetsOf(tasks: readonly Task[]): Target[] {
  return tasks.flatMap(({ name, text, queue, parameters }) => {
    const [only, ...others] = fieldsOf(parameters); // those that are required come first
    if (only?.kind !== "file" || !only.isRequired || others[0]?.isRequired) return [];
    const options = others.filter((field) => field.kind !== "secret");
    return [{ task: name, text, queue, parameter: only.name, options }];
  });
}

/** Those whose jobs go to the queue that is looked at, if there are any; otherwise all. */
export function nearest(targets: readonly Target[], queue: string | undefined): readonly Target[] {
  const here = targets.filter((target) => target.queue === queue);
  return here.length > 0 ? here : targets;
}

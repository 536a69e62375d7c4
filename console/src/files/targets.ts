// Which tasks can be given a file and nothing else.

import type { Task } from "../api/types";
import { fieldsOf } from "../forms/schema";

export interface Target {
  readonly task: string;
  readonly text: string;
  readonly queue: string;
  /** The parameter that takes the file. */
  readonly parameter: string;
}

export function targetsOf(tasks: readonly Task[]): Target[] {
  return tasks.flatMap(({ name, text, queue, parameters }) => {
    const required = fieldsOf(parameters).filter((field) => field.isRequired);
    const [only, ...others] = required;
    if (only?.kind !== "file" || others.length > 0) return [];
    return [{ task: name, text, queue, parameter: only.name }];
  });
}

/** Those whose jobs go to the queue that is looked at, if there are any; otherwise all. */
export function nearest(targets: readonly Target[], queue: string | undefined): readonly Target[] {
  const here = targets.filter((target) => target.queue === queue);
  return here.length > 0 ? here : targets;
}

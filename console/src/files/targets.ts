// The tasks whose only required parameter is a file, and their optional parameters.

import type { Task } from "../api/types";
import { type FormField, fieldsOf } from "../forms/schema";

export interface Target {
  readonly task: string;
  readonly text: string;
  readonly queue: string;
  /** The parameter that holds the path of the file. */
  readonly parameter: string;
  /** The optional parameters without secrets: a browser must not store secrets. */
  readonly options: readonly FormField[];
}

export function targetsOf(tasks: readonly Task[]): Target[] {
  return tasks.flatMap(({ name, text, queue, parameters }) => {
    const [only, ...others] = fieldsOf(parameters); // required fields come first
    if (only?.kind !== "file" || !only.isRequired || others[0]?.isRequired) return [];
    const options = others.filter((field) => field.kind !== "secret");
    return [{ task: name, text, queue, parameter: only.name, options }];
  });
}

/** Return the targets of the selected queue, or all targets if the queue has none. */
export function nearest(targets: readonly Target[], queue: string | undefined): readonly Target[] {
  const here = targets.filter((target) => target.queue === queue);
  return here.length > 0 ? here : targets;
}

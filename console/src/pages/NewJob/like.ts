// A form that begins as a job was: whoever runs one again often changes a little.

import type { Job, Task } from "../../api/types";
import { initial } from "../../forms/reading";
import type { FormField } from "../../forms/schema";
import { HIDDEN } from "../../live/summary";
import { namesOf } from "../Lanes/carry";
import type { Chosen } from "./Options.svelte";

export const USUAL: Chosen = { queue: "", lane: "", priority: "normal", runAt: "", kind: "start" };

/** Return the texts of a form with the parameters of a job; what is secret has to be entered again. */
export function valuesLike(
  fields: readonly FormField[],
  params: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const known = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== HIDDEN));
  return initial(fields, known);
}

/** Return where and how a job ran. A lane that a parameter names follows it, should it be changed. */
export function chosenLike(job: Job, task: Task): Chosen {
  const isNamed = namesOf(job.params, job.lane).length > 0;
  return {
    ...USUAL,
    queue: job.queue === task.queue ? "" : job.queue,
    lane: isNamed ? "" : (job.lane ?? ""),
    priority: job.priority,
  };
}

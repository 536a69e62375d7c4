// Fills a form from an earlier job, to run it again with small changes.

import type { Job, Task } from "../../api/types";
import { initial } from "../../forms/values";
import type { FormField } from "../../forms/schema";
import { HIDDEN } from "../../live/summary";
import { namesOf } from "../Lanes/copying";
import type { Chosen } from "./Options.svelte";

export const USUAL: Chosen = { queue: "", lane: "", priority: "normal", runAt: "", kind: "start" };

/** Return the texts of a form for the parameters of a job; secrets must be entered again. */
export function valuesLike(
  fields: readonly FormField[],
  params: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const known = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== HIDDEN));
  return initial(fields, known);
}

/** Return the queue, lane and kind of a job. A lane that equals a parameter is left to the task. */
export function chosenLike(job: Job, task: Task): Chosen {
  const isNamed = namesOf(job.params, job.lane).length > 0;
  return {
    ...USUAL,
    queue: job.queue === task.queue ? "" : job.queue,
    lane: isNamed ? "" : (job.lane ?? ""),
    priority: job.priority,
  };
}

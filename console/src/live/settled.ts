// Jobs that just ended. Their event holds neither result nor final statistics, so the jobs are
// loaded; if many end at a time, they are not, because no reader could follow.

import type { JobState, LiveEvent } from "../api/types";
import { isFinal } from "./order";

const FEW = 3;

/** Return the jobs that these events ended, or none if there are many. */
export function settledBy(events: readonly LiveEvent[]): ReadonlyMap<string, JobState> {
  const found = new Map<string, JobState>();
  for (const { type, job, data } of events) {
    if (type !== "job_state_changed" || job === null) continue;
    const state = data.state as JobState;
    if (isFinal(state)) found.set(job, state);
    else found.delete(job);
  }
  return found.size > FEW ? new Map() : found;
}

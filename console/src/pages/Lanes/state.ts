// The state of a lane: the list of lanes, corrected by later events.

import type { Lane } from "../../api/types";
import type { Brief } from "../../live/brief";
import { isFinal } from "../../live/order";
import type { Address } from "../../api/lanes";

/** A job by its id, with its live state if known. */
export interface Known {
  readonly id: string;
  readonly job: Brief | undefined;
}

export interface Standing {
  /** The job that locks the lane. */
  readonly active: Known | null;
  readonly last: Known | null;
}

export const keyOf = ({ queue, lane }: Address): string => `${encodeURIComponent(queue)}/${lane}`;

/** Return the first job of each lane. */
export function activeIn(jobs: Iterable<Brief>): Map<string, Brief> {
  const found = new Map<string, Brief>();
  for (const job of jobs) {
    if (job.lane === null) continue;
    const key = keyOf({ queue: job.queue, lane: job.lane });
    if (!found.has(key)) found.set(key, job);
  }
  return found;
}

/** Derive the state of a lane; `known` is its live job from the events. */
export function standingOf(
  lane: Lane,
  known: Brief | undefined,
  find: (id: string) => Brief | undefined,
): Standing {
  const past = lane.last_job === null ? null : { id: lane.last_job, job: find(lane.last_job) };
  if (known) return { active: { id: known.id, job: known }, last: past };
  if (lane.active_job === null) return { active: null, last: past };
  const listed: Known = { id: lane.active_job, job: find(lane.active_job) };
  if (!listed.job || !isFinal(listed.job.state)) return { active: listed, last: past };
  // A job that never ran leaves no trace in its lane.
  return { active: null, last: listed.job.attempt > 0 ? listed : past };
}

/** Return whether a lane matches a filter by its name, task or parameters. */
export function matcher(text: string): (lane: Lane) => boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return () => true;
  return ({ lane, params }) =>
    lane.toLowerCase().includes(wanted) ||
    (params !== null && JSON.stringify(params).toLowerCase().includes(wanted));
}

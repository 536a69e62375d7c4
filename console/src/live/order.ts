// The order of waiting jobs: the same as the server's order.

import type { JobState, Priority } from "../api/types";
import type { Brief } from "./brief";

export const PRIORITIES: readonly Priority[] = ["high", "normal", "low"];
export const WAITING: readonly JobState[] = [
  "created", "scheduled", "queued", "blocked", "retrying", "interrupted",
];
export const FINAL: readonly JobState[] = ["completed", "failed", "cancelled", "skipped"];

const RANK = { high: 0, normal: 1, low: 2 } as const;

export const isFinal = (state: JobState): boolean => FINAL.includes(state);

/**
 * Compare two waiting jobs. A job without a position comes last; a strict queue ignores priorities.
 */
export function compare(a: Brief, b: Brief, strict: boolean): number {
  const first = a.position ?? "";
  const second = b.position ?? "";
  if ((first === "") !== (second === "")) return first === "" ? 1 : -1;
  if (!strict && a.priority !== b.priority) return RANK[a.priority] - RANK[b.priority];
  if (first !== second) return first < second ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Return the index of a job, or the index to insert it at, among sorted jobs. */
export function placeIn(jobs: readonly Brief[], job: Brief, strict: boolean): number {
  let low = 0;
  let high = jobs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(jobs[middle]!, job, strict) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The queues that have a card when all queues are shown.

import { type Live, waitingIn } from "../../live/live";

const USUAL = "default";

/**
 * Return the names of the queues in order. Every program has the default queue; it is left out if
 * it was never used.
 */
export function visibleQueues(live: Pick<Live, "queues" | "counts" | "ended">): string[] {
  const names = Object.keys(live.queues).sort();
  const usual = live.queues[USUAL];
  if (!usual || names.length === 1) return names;
  const counts = live.counts[USUAL] ?? {};
  const isTouched =
    (counts.running ?? 0) + waitingIn(counts) > 0 ||
    usual.paused !== null ||
    usual.changed_by_operator.length > 0 ||
    live.ended.some((job) => job.queue === USUAL);
  return isTouched ? names : names.filter((name) => name !== USUAL);
}

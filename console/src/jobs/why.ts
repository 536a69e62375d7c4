// The reason that a job waits for, in a few words. `explain` on the server gives the full reason; a
// list derives it from the live state, where "turn" means that the reason is unknown.

import type { Queue, Reason } from "../api/types";
import type { Brief } from "../live/brief";
import type { Live } from "../live/live";

export interface Why {
  readonly code: string;
  readonly message: string;
  readonly facts?: Reason["facts"];
}

/** Return the lanes that have a running job, as "queue lane". */
export function busyLanes(live: Pick<Live, "running">): ReadonlySet<string> {
  const busy = new Set<string>();
  for (const { queue, lane } of live.running.values())
    if (lane !== null) busy.add(`${queue} ${lane}`);
  return busy;
}

/** Return whether a queue starts no job until an operator changes it. */
export function isHeld(queue: Queue | undefined): boolean {
  return queue !== undefined && (queue.paused !== null || queue.settings.max_concurrent === 0);
}

/** Derive the reason of a waiting job from its queue, the counts and the busy lanes. */
export function whyOf(
  job: Brief,
  live: Pick<Live, "queues" | "counts">,
  busy: ReadonlySet<string>,
): Why {
  const reason = job.waiting_for[0];
  if (job.state === "retrying") return { code: "retry", message: job.error?.message ?? "" };
  if (job.state === "scheduled") return { code: "due", message: "" };
  if (reason) return reason;
  if (job.state !== "queued") return { code: job.state, message: "" };
  const queue = live.queues[job.queue];
  if (queue?.paused) return { code: "paused", message: "" };
  if (job.lane !== null && busy.has(`${job.queue} ${job.lane}`))
    return { code: "lane", message: "" };
  const most = queue?.settings.max_concurrent ?? null;
  if (most !== null && (live.counts[job.queue]?.running ?? 0) >= most)
    return { code: "max_concurrent", message: "" };
  return { code: "turn", message: "" };
}

// The reasons in order of use to an operator.
const BY_USE = ["paused", "dependencies", "due", "rate_limit", "resource", "worker", "device",
  "lane", "max_concurrent", "strict", "next", "turn"];

/** Return the most useful of several reasons. */
export function mostUseful(reasons: readonly Reason[]): Why | undefined {
  const rank = (code: string) => (BY_USE.indexOf(code) + BY_USE.length + 1) % (BY_USE.length + 1);
  return [...reasons].sort((a, b) => rank(a.code) - rank(b.code))[0];
}

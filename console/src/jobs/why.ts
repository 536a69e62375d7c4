// Why a job waits, in a few words. The server tells the whole story when it is asked (`explain`);
// for a list this is read from what is known here already, and "turn" means that it is not known.

import type { Queue, Reason } from "../api/types";
import type { Brief } from "../live/brief";
import type { Live } from "../live/live";

export interface Why {
  readonly code: string;
  readonly message: string;
}

/** Lanes in which no other job can start now, as "queue lane". */
export function busyLanes(live: Pick<Live, "running">): ReadonlySet<string> {
  const busy = new Set<string>();
  for (const { queue, lane } of live.running.values())
    if (lane !== null) busy.add(`${queue} ${lane}`);
  return busy;
}

/** Tell whether nothing starts in a queue until somebody lets it. */
export function isHeld(queue: Queue | undefined): boolean {
  return queue !== undefined && (queue.paused !== null || queue.settings.max_concurrent === 0);
}

/** Say why a job waits, by the queues there are, how much is in them, and the busy lanes. */
export function whyOf(
  job: Brief,
  live: Pick<Live, "queues" | "counts">,
  busy: ReadonlySet<string>,
): Why {
  const said = job.waiting_for[0];
  if (job.state === "retrying") return { code: "retry", message: job.error?.message ?? "" };
  if (job.state === "scheduled") return { code: "due", message: "" };
  if (said) return said;
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

// The order in which reasons say most to somebody who looks.
const TELLING = ["paused", "dependencies", "due", "rate_limit", "resource", "worker", "device",
  "lane", "max_concurrent", "strict", "next", "turn"];

/** Of several reasons, take the one that says most. */
export function mostTelling(reasons: readonly Reason[]): Why | undefined {
  const rank = (code: string) => (TELLING.indexOf(code) + TELLING.length + 1) % (TELLING.length + 1);
  return [...reasons].sort((a, b) => rank(a.code) - rank(b.code))[0];
}

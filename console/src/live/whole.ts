// The rest of a long line. The state holds the first jobs of each queue; whoever scrolls on, or
// searches, gets the others, page by page in their order.

import { listJobs, listLine } from "../api/calls";
import { type Brief, briefOf } from "./brief";
import { type Live, lineOf } from "./live";
import { compare } from "./order";

export const MOST_WHOLE = 20_000;
const PAGE = 1000;

/** What was read of a line so far; `isLast` if that is all of it. */
export interface Part {
  readonly jobs: readonly Brief[];
  readonly isLast: boolean;
}

/** Read the waiting jobs of a queue, each time with one more page. */
export async function* readLine(queue: string, signal: AbortSignal): AsyncGenerator<Part> {
  const jobs: Brief[] = [];
  let cursor: string | undefined;
  do {
    const page = await listLine(queue, { limit: PAGE, cursor }, signal);
    for (const job of page.items) jobs.push(briefOf(job));
    cursor = page.next ?? undefined;
    if (cursor) yield { jobs, isLast: false };
  } while (cursor && jobs.length < MOST_WHOLE);
  if (cursor) return;
  // Those that wait for others to end stand in no order, and after all that do.
  const blocked = await listJobs({ queue, state: ["blocked"], limit: PAGE }, signal);
  for (const job of blocked.items) if (job.position === null) jobs.push(briefOf(job));
  yield { jobs, isLast: true };
}

/**
 * Put what was read of a line into a state that has moved on meanwhile: of jobs that an event told
 * about since the reading began, the state knows better, and of those behind the part as well.
 */
export function withLine(
  live: Live,
  queue: string,
  { jobs: read, isLast }: Part,
  touched: { has(id: string): boolean },
): Live {
  const strict = live.queues[queue]?.settings.order === "strict";
  const last = read.at(-1);
  const jobs = read.filter((job) => !touched.has(job.id) && !live.running.has(job.id));
  const here = new Set(jobs.map((job) => job.id));
  for (const job of live.waiting[queue]?.jobs ?? []) {
    const isBehind = !isLast && (!last || compare(job, last, strict) > 0);
    if (!here.has(job.id) && (touched.has(job.id) || isBehind)) jobs.push(job);
  }
  jobs.sort((a, b) => compare(a, b, strict));
  return { ...live, waiting: { ...live.waiting, [queue]: lineOf(jobs, isLast) } };
}

/** Keep what was read of long lines when the state is taken anew, until it is read again. */
export function withKnownTails(next: Live, before: Live): Live {
  let live = next;
  for (const [queue, line] of Object.entries(next.waiting)) {
    const known = before.waiting[queue];
    if (line.isWhole || !known || known.jobs.length <= line.jobs.length) continue;
    const gone = new Set([...next.running.keys(), ...next.ended.map((job) => job.id)]);
    const left = lineOf(known.jobs.filter((job) => !gone.has(job.id)), false);
    const joined = { ...live, waiting: { ...live.waiting, [queue]: left } };
    live = withLine(joined, queue, { jobs: line.jobs, isLast: false }, new Set());
  }
  return live;
}

// The rest of a long line. The state holds the first jobs of each queue; the rest is loaded page by
// page when the user scrolls or searches.

import { listJobs, listLine } from "../api/calls";
import { type Brief, briefOf } from "./brief";
import { type Live, lineOf } from "./live";
import { compare } from "./order";

export const MOST_WHOLE = 20_000;
const PAGE = 1000;

/** The loaded part of a line; `isLast` if it is complete. */
export interface Part {
  readonly jobs: readonly Brief[];
  readonly isLast: boolean;
}

/** Read the waiting jobs of a queue; each part holds one more page. */
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
  // Jobs that wait for dependencies have no position and come last.
  const blocked = await listJobs({ queue, state: ["blocked"], limit: PAGE }, signal);
  for (const job of blocked.items) if (job.position === null) jobs.push(briefOf(job));
  yield { jobs, isLast: true };
}

/**
 * Merge the loaded part of a line into a state that has changed since the load began. The state is
 * newer for jobs that had an event since then, and for jobs behind the part.
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

/**
 * Keep the loaded tails of long lines when the state is loaded again, until they are read again.
 */
export function withLoadedTails(next: Live, before: Live): Live {
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

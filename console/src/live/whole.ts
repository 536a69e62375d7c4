// The rest of a long line. The state holds the first jobs of each queue; whoever scrolls on, or
// searches, gets all of them. The server lists jobs by their age and not by their place, so all
// have to be read before any of them can be shown where it stands.

import { listJobs } from "../api/calls";
import { type Brief, briefOf } from "./brief";
import { type Live, lineOf } from "./live";
import { WAITING, compare } from "./order";

export const MOST_WHOLE = 20_000;
const PAGE = 1000;

/** Read every waiting job of a queue; null if there are too many to hold. */
export async function readLine(queue: string, signal: AbortSignal): Promise<Brief[] | null> {
  const jobs: Brief[] = [];
  let cursor: string | undefined;
  do {
    const page = await listJobs({ queue, state: WAITING, limit: PAGE, cursor }, signal);
    for (const job of page.items) jobs.push(briefOf(job));
    cursor = page.next ?? undefined;
  } while (cursor && jobs.length < MOST_WHOLE);
  return cursor ? null : jobs;
}

/**
 * Put a line that was read into a state that has moved on meanwhile: of jobs that an event told
 * about since the reading began, the state knows better.
 */
export function withLine(
  live: Live,
  queue: string,
  read: readonly Brief[],
  touched: ReadonlySet<string>,
): Live {
  const known = live.waiting[queue];
  const strict = live.queues[queue]?.settings.order === "strict";
  const jobs = read.filter((job) => !touched.has(job.id) && !live.running.has(job.id));
  const here = new Set(jobs.map((job) => job.id));
  for (const job of known?.jobs ?? [])
    if (!here.has(job.id) && touched.has(job.id)) jobs.push(job);
  jobs.sort((a, b) => compare(a, b, strict));
  return { ...live, waiting: { ...live.waiting, [queue]: lineOf(jobs, true) } };
}

/** Keep what was read of long lines when the state is taken anew, until it is read again. */
export function withKnownTails(next: Live, before: Live): Live {
  let waiting = next.waiting;
  for (const [queue, line] of Object.entries(next.waiting)) {
    const known = before.waiting[queue];
    const last = line.jobs.at(-1);
    if (line.isWhole || !known || known.jobs.length <= line.jobs.length || !last) continue;
    const strict = next.queues[queue]?.settings.order === "strict";
    const tail = known.jobs.filter(
      (job) =>
        compare(job, last, strict) > 0 && !line.byId.has(job.id) && !next.running.has(job.id),
    );
    waiting = { ...waiting, [queue]: lineOf([...line.jobs, ...tail], false) };
  }
  return { ...next, waiting };
}

// The rows of the list of waiting jobs: a heading for each priority and its jobs. The gap between
// two rows determines the target of a dropped job.

import type { Place, Priority } from "../../api/types";
import type { Brief } from "../../live/brief";
import { PRIORITIES } from "../../live/order";

export interface Heading {
  readonly key: string;
  readonly queue: string;
  /** `strict`: the queue ignores priorities; `none`: jobs that have no position yet. */
  readonly priority: Priority | "strict" | "none";
  count: number;
}

export type Row = Heading | Brief;

export interface Layout {
  readonly rows: readonly Row[];
  /** The position of each row's job in its queue, from 1; 0 if it has none. */
  readonly places: readonly number[];
}

export interface QueueLine {
  readonly queue: string;
  readonly jobs: readonly Brief[];
  readonly strict: boolean;
}

export const isHeading = (row: Row): row is Heading => "key" in row;
export const keyOf = (row: Row): string => ("key" in row ? row.key : row.id);

/**
 * Lay out lines as rows. `dragged` is the queue of a job that is being dragged: it gets a heading
 * for each priority, so that a job can be dropped on a priority without jobs.
 */
export function layOut(
  lines: readonly QueueLine[],
  matches: ((job: Brief) => boolean) | null,
  dragged: string | null = null,
): Layout {
  const rows: Row[] = [];
  const places: number[] = [];
  for (const { queue, jobs, strict } of lines) {
    const headings = new Map<Heading["priority"], Heading>();
    const open = (priority: Heading["priority"]): Heading => {
      let heading = headings.get(priority);
      if (!heading) {
        heading = { key: `${queue} ${priority}`, queue, priority, count: 0 };
        headings.set(priority, heading);
        rows.push(heading);
        places.push(0);
      }
      return heading;
    };
    const openUpTo = (priority: Priority): void => {
      if (dragged === queue && !strict)
        for (const one of PRIORITIES.slice(0, PRIORITIES.indexOf(priority))) open(one);
    };
    let place = 0;
    for (const job of jobs) {
      const stands = job.position !== null && job.state !== "scheduled";
      if (stands) place += 1;
      if (matches && !matches(job)) continue;
      const priority = job.position === null ? "none" : strict ? "strict" : job.priority;
      if (priority === "none") openUpTo("low");
      else if (priority !== "strict") openUpTo(priority);
      if (priority === "none" && dragged === queue && !strict) open("low");
      open(priority).count += 1;
      rows.push(job);
      places.push(stands ? place : 0);
    }
    if (dragged === queue && !strict && !headings.has("none"))
      for (const priority of PRIORITIES) open(priority);
  }
  return { rows, places };
}

export type Drop = { readonly move: Place } | { readonly priority: Priority };

/** Return the move for a job dropped between two rows; null if it changes no order. */
export function dropAt(rows: readonly Row[], gap: number, job: Brief): Drop | null {
  const above = rows[gap - 1];
  const below = rows[gap];
  if (!above || above.queue !== job.queue) return null;
  if (isHeading(above)) {
    if (above.priority === "none") return null;
    if (below && !isHeading(below) && below.queue === job.queue)
      return below.id === job.id ? null : { move: { before: below.id } };
    const { priority } = above;
    return priority === "strict" || priority === job.priority ? null : { priority };
  }
  if (above.position === null) return null;
  if (above.id === job.id || (below && !isHeading(below) && below.id === job.id)) return null;
  return { move: { after: above.id } };
}

/** Return the move of a job by one row, over a heading into the next priority. */
export function stepOf(rows: readonly Row[], job: Brief, step: 1 | -1): Drop | null {
  const index = rows.findIndex((row) => !isHeading(row) && row.id === job.id);
  if (index < 0) return null;
  const next = rows[index + step];
  if (next && next.queue === job.queue) {
    if (!isHeading(next)) {
      if (next.position === null) return null;
      return { move: step < 0 ? { before: next.id } : { after: next.id } };
    }
    const over = dropAt(rows, step < 0 ? index - 1 : index + 2, job);
    if (over) return over;
  }
  const isStrict = rows.some((row) => isHeading(row) && row.queue === job.queue && row.priority === "strict");
  const priority = PRIORITIES[PRIORITIES.indexOf(job.priority) + step];
  return priority && !isStrict ? { priority } : null;
}

export function matcher(text: string): ((job: Brief) => boolean) | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  return (job) =>
    `${job.task}\n${job.lane ?? ""}\n${job.id}\n${job.summary}`.toLowerCase().includes(wanted);
}

// The rows of the list of waiting jobs: a heading for each priority and its jobs. The gap between
// two rows determines the target of a dropped job.

import type { Place, Priority } from "../../api/types";
import type { Brief } from "../../live/brief";
import { BANDS } from "../../live/order";

export interface Heading {
  readonly key: string;
  readonly queue: string;
  /** `strict`: the queue ignores priorities; `none`: jobs that have no position yet. */
  readonly band: Priority | "strict" | "none";
  count: number;
}

export type Row = Heading | Brief;

export interface Shown {
  readonly rows: readonly Row[];
  /** The position of each row's job in its queue, from 1; 0 if it has none. */
  readonly places: readonly number[];
}

export interface QueueLine {
  readonly queue: string;
  readonly jobs: readonly Brief[];
  readonly strict: boolean;
}

export const isHeading = (row: Row): row is Heading => "band" in row;
export const keyOf = (row: Row): string => ("band" in row ? row.key : row.id);

/**
 * Lay out lines as rows. `dragged` is the queue of a job that is being dragged: it gets a heading
 * for each priority, so that a job can be dropped on a priority without jobs.
 */
export function layOut(
  lines: readonly QueueLine[],
  matches: ((job: Brief) => boolean) | null,
  dragged: string | null = null,
): Shown {
  const rows: Row[] = [];
  const places: number[] = [];
  for (const { queue, jobs, strict } of lines) {
    const headings = new Map<Heading["band"], Heading>();
    const open = (band: Heading["band"]): Heading => {
      let heading = headings.get(band);
      if (!heading) {
        heading = { key: `${queue} ${band}`, queue, band, count: 0 };
        headings.set(band, heading);
        rows.push(heading);
        places.push(0);
      }
      return heading;
    };
    const openUpTo = (band: Priority): void => {
      if (dragged === queue && !strict)
        for (const one of BANDS.slice(0, BANDS.indexOf(band))) open(one);
    };
    let place = 0;
    for (const job of jobs) {
      const stands = job.position !== null && job.state !== "scheduled";
      if (stands) place += 1;
      if (matches && !matches(job)) continue;
      const band = job.position === null ? "none" : strict ? "strict" : job.priority;
      if (band === "none") openUpTo("low");
      else if (band !== "strict") openUpTo(band);
      if (band === "none" && dragged === queue && !strict) open("low");
      open(band).count += 1;
      rows.push(job);
      places.push(stands ? place : 0);
    }
    if (dragged === queue && !strict && !headings.has("none")) for (const band of BANDS) open(band);
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
    if (above.band === "none") return null;
    if (below && !isHeading(below) && below.queue === job.queue)
      return below.id === job.id ? null : { move: { before: below.id } };
    return above.band === "strict" || above.band === job.priority ? null : { priority: above.band };
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
  const isStrict = rows.some((row) => isHeading(row) && row.queue === job.queue && row.band === "strict");
  const band = BANDS[BANDS.indexOf(job.priority) + step];
  return band && !isStrict ? { priority: band } : null;
}

export function matcher(text: string): ((job: Brief) => boolean) | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  return (job) =>
    `${job.task}\n${job.lane ?? ""}\n${job.id}\n${job.summary}`.toLowerCase().includes(wanted);
}

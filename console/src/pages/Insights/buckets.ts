// Counts jobs by time and by duration, for plots.

import type { Result, Sample } from "./samples";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WIDTHS = [
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, DAY, 7 * DAY,
  28 * DAY,
];
const MOST_BUCKETS = 60;
const FEWEST = 6; // a single bar would give no scale

/** Return the width of a time bucket, so that there are not too many of them. */
export function widthOf(spanMs: number): number {
  const days = () => Math.ceil(spanMs / MOST_BUCKETS / DAY) * DAY;
  return WIDTHS.find((width) => spanMs / width <= MOST_BUCKETS) ?? days();
}

export interface TimeBucket extends Record<Result, number> {
  readonly at: number;
}

/** Count ended jobs in each time bucket between two instants, including empty buckets. */
export function overTime(
  samples: readonly Sample[],
  from: number,
  to: number,
  width: number,
  offset = 0,
): TimeBucket[] {
  // Buckets begin at whole local hours and days, not at those of UTC.
  const floor = (at: number) => Math.floor((at - offset) / width) * width + offset;
  const first = floor(from);
  const count = Math.floor((floor(to) - first) / width) + 1;
  const buckets: TimeBucket[] = Array.from({ length: Math.max(1, count) }, (_, index) => ({
    at: first + index * width, completed: 0, failed: 0, other: 0,
  }));
  for (const { endedAt, result } of samples) {
    const bucket = buckets[Math.floor((floor(endedAt) - first) / width)];
    if (bucket) bucket[result] += 1;
  }
  return buckets;
}

// A little more than three for each power of ten, at familiar durations.
const EDGES = [
  100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  1_200_000, 1_800_000, 3_600_000, 7_200_000, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY,
];

export interface LengthBucket {
  /** The longest duration of the bucket, in milliseconds. */
  readonly upTo: number;
  readonly count: number;
}

/** Count durations by bucket, from the first bucket with any to the last, and a few more. */
export function byLength(sorted: readonly number[]): LengthBucket[] {
  const counts = new Array<number>(EDGES.length + 1).fill(0);
  let edge = 0;
  for (const value of sorted) {
    while (edge < EDGES.length && value > EDGES[edge]!) edge += 1;
    counts[edge]! += 1;
  }
  let first = counts.findIndex((count) => count > 0);
  let last = counts.findLastIndex((count) => count > 0);
  if (first < 0) return [];
  while (last - first + 1 < FEWEST) {
    first = Math.max(0, first - 1);
    if (last - first + 1 < FEWEST && last < EDGES.length - 1) last += 1;
  }
  return counts
    .slice(first, last + 1)
    .map((count, index) => ({ upTo: EDGES[first + index] ?? Number.POSITIVE_INFINITY, count }));
}

/**
 * Return the number of waiting jobs over time from their expected starts; jobs without one stay.
 */
export function waitingAt(starts: readonly number[], waiting: number, times: readonly number[]): number[] {
  const sorted = [...starts].sort((a, b) => a - b);
  let started = 0;
  return times.map((time) => {
    while (started < sorted.length && sorted[started]! <= time) started += 1;
    return waiting - started;
  });
}

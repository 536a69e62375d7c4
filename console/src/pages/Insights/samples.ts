// A sample of an ended job: enough to count and to measure, and small enough for thousands.

import type { JobState } from "../../api/types";

export type Result = "completed" | "failed" | "other";
export const RESULTS: readonly Result[] = ["completed", "failed", "other"];

export interface Sample {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly result: Result;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** Milliseconds from its submission to its last start; null if it never ran. */
  readonly waited: number | null;
  readonly ran: number | null;
  /** The numbers in its statistics. */
  readonly numbers: Readonly<Record<string, number>>;
}

interface Ended {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly state: JobState;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly statistics: Readonly<Record<string, unknown>>;
}

export function sampleOf(job: Ended): Sample {
  const endedAt = Date.parse(job.ended_at ?? job.created_at);
  const started = job.started_at === null ? null : Date.parse(job.started_at);
  const { id, task, queue, state } = job;
  return {
    id,
    task,
    queue,
    result: state === "completed" || state === "failed" ? state : "other",
    endedAt,
    waited: started === null ? null : Math.max(0, started - Date.parse(job.created_at)),
    ran: started === null ? null : Math.max(0, endedAt - started),
    numbers: numbersIn(job.statistics),
  };
}

const NOTHING: Sample["numbers"] = {};

function numbersIn(statistics: Ended["statistics"]): Sample["numbers"] {
  const found = Object.entries(statistics).filter((one) => Number.isFinite(one[1]));
  return found.length > 0 ? (Object.fromEntries(found) as Sample["numbers"]) : NOTHING;
}

/** Return a quantile of sorted values by rank; null if there are none. */
export function quantile(sorted: readonly number[], part: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(part * sorted.length) - 1))] ?? null;
}

export interface Spread {
  readonly count: number;
  readonly median: number | null;
  readonly p95: number | null;
  readonly sorted: readonly number[];
}

export function spreadOf(values: Iterable<number | null>): Spread {
  const sorted = [...values].filter((value) => value !== null).sort((a, b) => a - b);
  return { count: sorted.length, median: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), sorted };
}

export interface TaskSummary {
  readonly key: string;
  readonly task: string;
  readonly queue: string;
  readonly count: number;
  readonly failed: number;
  readonly waited: Spread;
  readonly ran: Spread;
}

/** Aggregate by queue and task, those with the most jobs first. */
export function byTask(samples: readonly Sample[]): TaskSummary[] {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const key = `${encodeURIComponent(sample.queue)}/${sample.task}`;
    const group = groups.get(key);
    if (group) group.push(sample);
    else groups.set(key, [sample]);
  }
  const sums = [...groups].map(([key, group]) => ({
    key,
    task: group[0]!.task,
    queue: group[0]!.queue,
    count: group.length,
    failed: group.filter((one) => one.result === "failed").length,
    waited: spreadOf(group.map((one) => one.waited)),
    ran: spreadOf(group.map((one) => one.ran)),
  }));
  return sums.sort((a, b) => b.count - a.count || a.key.localeCompare(b.key));
}

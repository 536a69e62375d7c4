// The rate of a counter, and the estimated remaining time of a job.

import type { Brief } from "../live/brief";

const WINDOW_MS = 15_000;
const SHORTEST_MS = 1_500;

const ESTIMATE_AFTER_MS = 3_000;
const ESTIMATE_AFTER_PERCENT = 3;

/** Estimate the remaining milliseconds; null if there is too little data. */
export function remaining(percent: number | null, elapsedMs: number): number | null {
  if (percent === null || percent < ESTIMATE_AFTER_PERCENT || percent >= 100) return null;
  return elapsedMs < ESTIMATE_AFTER_MS ? null : (elapsedMs * (100 - percent)) / percent;
}

export interface Left {
  readonly milliseconds: number;
  /** Other stages follow the stage of this estimate. */
  readonly isOfStage: boolean;
}

/**
 * Estimate the remaining time of a job; null if it is unknown.
 *
 * The percentage of a job counts its stages as equally long, which is seldom true. While a stage
 * runs, the estimate is only for that stage and depends on its rate.
 */
export function timeLeft(
  job: Pick<Brief, "started_at" | "progress" | "stages">,
  now: number,
): Left | null {
  const isOfStage = job.stages.some((one) => one.status === "pending");
  const stage = job.stages.find((one) => one.status === "running");
  if (isOfStage && !stage) return null;
  const since = stage ? stage.started_at : job.started_at;
  const percent = stage ? stage.percent : job.progress.percent;
  const milliseconds = since ? remaining(percent, now - Date.parse(since)) : null;
  return milliseconds === null ? null : { milliseconds, isOfStage };
}

/** Return the first number among the statistics: the main counter of a task. */
export function counter(statistics: Readonly<Record<string, unknown>>): [string, number] | null {
  for (const [name, value] of Object.entries(statistics))
    if (typeof value === "number") return [name, value];
  return null;
}

/** Measures the growth of a counter per second over the last 15 seconds. */
export class Pace {
  #samples: { at: number; value: number }[] = [];

  /** Add a value and return the growth per second; null if the counter does not grow. */
  add(value: number, at: number): number | null {
    const last = this.#samples.at(-1);
    if (last && value < last.value) this.#samples = [];
    if (last?.value !== value) this.#samples.push({ at, value });
    while (this.#samples.length > 2 && at - this.#samples[1]!.at > WINDOW_MS) this.#samples.shift();
    const first = this.#samples[0]!;
    const span = at - first.at;
    return span >= SHORTEST_MS && value > first.value ? ((value - first.value) * 1000) / span : null;
  }
}

/** Format a rate with two significant digits. */
export function rateText(perSecond: number): string {
  if (perSecond >= 100) return Math.round(perSecond).toString();
  return perSecond >= 10 ? perSecond.toFixed(1) : perSecond.toPrecision(2);
}

// How fast something goes, and how long it still takes.

import type { Brief } from "../live/brief";

const WINDOW_MS = 15_000;
const SHORTEST_MS = 1_500;

const TOLD_AFTER_MS = 3_000;
const TOLD_AFTER_PERCENT = 3;

/** Guess how many milliseconds are left; null where there is too little to tell it from. */
export function remaining(percent: number | null, elapsedMs: number): number | null {
  if (percent === null || percent < TOLD_AFTER_PERCENT || percent >= 100) return null;
  return elapsedMs < TOLD_AFTER_MS ? null : (elapsedMs * (100 - percent)) / percent;
}

export interface Left {
  readonly milliseconds: number;
  /** Other stages come after the one that this is about. */
  readonly isOfStage: boolean;
}

/**
 * Guess how long a job still takes; null where that is not known.
 *
 * The percentage of a job takes its stages for equally long, which they seldom are. So where a stage
 * runs it is guessed by its own pace, and of those that come nothing is said.
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

/** The first number among statistics, which is what a task counts. */
export function counter(statistics: Readonly<Record<string, unknown>>): [string, number] | null {
  for (const [name, value] of Object.entries(statistics))
    if (typeof value === "number") return [name, value];
  return null;
}

/** Measures how much a counter grows in a second, over the last while. */
export class Pace {
  #samples: { at: number; value: number }[] = [];

  /** Take a new value and return what it grows by each second; null if it does not. */
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

/** Write a rate with two digits that count. */
export function rateText(perSecond: number): string {
  if (perSecond >= 100) return Math.round(perSecond).toString();
  return perSecond >= 10 ? perSecond.toFixed(1) : perSecond.toPrecision(2);
}

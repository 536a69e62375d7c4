// Numbers from the statistics of jobs, summed over time.

import { areBytes } from "../../jobs/figures";
import type { Sample } from "./samples";

/** The choices: each task with the names of its numbers, the task with the most jobs first. */
export function reporters(samples: readonly Sample[]): Map<string, readonly string[]> {
  const counts = new Map<string, number>();
  const names = new Map<string, Set<string>>();
  for (const { task, numbers } of samples) {
    const found = Object.keys(numbers);
    if (found.length === 0) continue;
    counts.set(task, (counts.get(task) ?? 0) + 1);
    const known = names.get(task) ?? new Set();
    for (const name of found) known.add(name);
    names.set(task, known);
  }
  const tasks = [...counts.keys()].sort((a, b) => counts.get(b)! - counts.get(a)! || a.localeCompare(b));
  return new Map(tasks.map((task) => [task, [...names.get(task)!].sort(bytesFirst)]));
}

const bytesFirst = (one: string, other: string): number =>
  Number(areBytes(other)) - Number(areBytes(one)) || one.localeCompare(other);

export interface Sum {
  readonly at: number;
  readonly sum: number;
  /** The sum of this bucket and all before it. */
  readonly total: number;
  /** The number of jobs in the sum. */
  readonly count: number;
}

/** Sum a number in each time bucket; `places` are the starts of the buckets. */
export function sums(
  samples: readonly Sample[],
  task: string,
  name: string,
  places: readonly number[],
  width: number,
): Sum[] {
  const sum = places.map(() => 0);
  const count = places.map(() => 0);
  for (const { task: its, numbers, endedAt } of samples) {
    const value = its === task ? numbers[name] : undefined;
    const place = Math.floor((endedAt - (places[0] ?? 0)) / width);
    if (value === undefined || sum[place] === undefined) continue;
    sum[place] += value;
    count[place]! += 1;
  }
  let total = 0;
  return places.map((at, place) => {
    total += sum[place]!;
    return { at, sum: sum[place]!, total, count: count[place]! };
  });
}

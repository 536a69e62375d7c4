import { expect, it } from "vitest";
import { byLength, overTime, waitingAt, widthOf } from "./buckets";
import { compare, foreseen } from "./comparison";
import { reporters, sums } from "./reported";
import { byTask, quantile, sampleOf, spreadOf } from "./samples";

const ended = (given: Partial<Parameters<typeof sampleOf>[0]> = {}) =>
  sampleOf({
    id: "1", task: "send", queue: "mail", state: "completed",
    created_at: "2026-01-01T00:00:00Z", started_at: "2026-01-01T00:00:05Z",
    ended_at: "2026-01-01T00:00:15Z", statistics: {}, ...given,
  });

it("measures waiting and running, and neither of a job that never ran", () => {
  expect(ended()).toMatchObject({ waited: 5_000, ran: 10_000, result: "completed" });
  expect(ended({ started_at: null, state: "skipped" })).toMatchObject({
    waited: null, ran: null, result: "other",
  });
});

it("computes quantiles by rank", () => {
  expect([quantile([], 0.5), quantile([7], 0.95), quantile([1, 2, 3, 4], 0.5)]).toEqual([null, 7, 2]);
  const hundred = spreadOf(Array.from({ length: 100 }, (_, index) => 100 - index));
  expect([hundred.median, hundred.p95]).toEqual([50, 95]);
});

it("sums up by queue and task, the most first", () => {
  const sums = byTask([
    ended(), ended({ state: "failed" }), ended({ task: "read" }), ended({ queue: "a/b", task: "c" }),
  ]);
  expect(sums.map(({ task, queue, count, failed }) => [queue, task, count, failed])).toEqual([
    ["mail", "send", 2, 1], ["a/b", "c", 1, 0], ["mail", "read", 1, 0],
  ]);
});

it("counts over time, including empty buckets", () => {
  const from = Date.parse("2026-01-01T00:00:10Z");
  const buckets = overTime([ended(), ended({ state: "failed" })], from, from + 120_000, 60_000);
  expect(buckets.map(({ completed, failed }) => [completed, failed])).toEqual([[1, 1], [0, 0], [0, 0]]);
});

it("chooses widths that leave few enough buckets", () => {
  expect([3_600_000, 86_400_000, 7 * 86_400_000].map(widthOf)).toEqual([60_000, 1_800_000, 21_600_000]);
});

it("counts lengths between the shortest and the longest, in no fewer than six buckets", () => {
  const counts = (lengths: number[]) => byLength(lengths).map(({ upTo, count }) => [upTo, count]);
  expect(counts([90, 150, 160, 4_000])).toEqual([
    [100, 1], [200, 2], [500, 0], [1_000, 0], [2_000, 0], [5_000, 1],
  ]);
  expect(counts([900]).map(([upTo]) => upTo)).toEqual([100, 200, 500, 1_000, 2_000, 5_000]);
  expect(counts([9e12]).at(-1)).toEqual([Number.POSITIVE_INFINITY, 1]);
  expect(counts([])).toEqual([]);
});

it("lists the numbers of each task, bytes first", () => {
  const known = reporters([
    ended({ task: "a" }), ended({ task: "b", statistics: { quality: 0.9, saved_bytes: 7, note: "x" } }),
    ended({ task: "c", statistics: { pages: 1 } }), ended({ task: "b", statistics: { speed: 2 } }),
    ended({ task: "d", statistics: { odd: Number.NaN } }),
  ]);
  expect([...known]).toEqual([["b", ["saved_bytes", "quality", "speed"]], ["c", ["pages"]]]);
});

it("sums a number in each bucket and in total", () => {
  const saved = (bytes: number, ended_at: string, task = "send") =>
    ended({ task, ended_at, statistics: { saved_bytes: bytes } });
  const at = Date.parse("2026-01-01T00:00:00Z");
  const samples = [
    saved(5, "2026-01-01T00:00:10Z"), saved(-2, "2026-01-01T00:02:10Z"), saved(3, "2026-01-01T00:00:50Z"),
    saved(99, "2026-01-01T00:00:10Z", "other"), saved(99, "2025-01-01T00:00:10Z"), ended(),
  ];
  const found = sums(samples, "send", "saved_bytes", [at, at + 60_000, at + 120_000], 60_000);
  expect(found.map(({ sum, total, count }) => [sum, total, count])).toEqual([
    [8, 8, 2], [0, 8, 0], [-2, 6, 1],
  ]);
  expect(sums(samples, "send", "saved_bytes", [at], 60_000).map(({ sum }) => sum)).toEqual([8]);
});

it("draws how many still wait", () => {
  expect(waitingAt([30, 10, 20], 5, [0, 10, 25, 99])).toEqual([5, 4, 3, 2]);
});

const seconds = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const forecast = (empty: number | null, ...starts: (number | null)[]) =>
  foreseen({
    items: starts.map((start, index) => ({
      job: String(index),
      starts_at: start === null ? null : seconds(start),
    })),
    waiting: starts.length,
    empty_at: empty === null ? null : seconds(empty),
  });

it("compares when a queue is empty, if both are known", () => {
  const found = compare(forecast(40, 10, 20), forecast(25, 10, 12));
  expect(found).toEqual({
    kind: "empty", before: Date.parse(seconds(40)), after: Date.parse(seconds(25)), unknown: 0,
  });
});

it("gives the last known start if the end is unknown, and the number of unknown jobs", () => {
  const found = compare(forecast(null, 10, 20, null), forecast(null, 10, 12, null));
  expect(found).toEqual({
    kind: "starts", before: Date.parse(seconds(20)), after: Date.parse(seconds(12)), unknown: 1,
  });
});

it("gives no forecast if no job waits or no start is known", () => {
  expect(compare(forecast(5), forecast(5))).toEqual({ kind: "none" });
  expect(compare(forecast(null, null), null)).toEqual({ kind: "unknown" });
});

import { beforeEach, expect, it } from "vitest";
import { afterState, event, job } from "../../testing/jobs";
import { attemptsOf } from "./attempts";
import { MOST_LINES, append, begin, NO_LINES } from "./log";

beforeEach(afterState);

const error = { code: "timeout", message: "too slow" };

it("a retry is a further attempt, and the first keeps its error", () => {
  const events = [
    event("job_state_changed", "a", { state: "running", from: "queued", attempt: 1, worker: "w" }),
    event("job_state_changed", "a", { state: "retrying", from: "running", error }),
    event("job_state_changed", "a", { state: "queued", from: "retrying" }),
    event("job_state_changed", "a", { state: "running", from: "queued", attempt: 2, worker: "w" }),
  ];
  const now = job({ id: "a", state: "running", attempt: 2, started_at: "2026-01-01T00:01:00Z" });
  expect(attemptsOf(events, now)).toMatchObject([
    { number: 1, state: "retrying", error },
    { number: 2, state: null, endedAt: null },
  ]);
});

it("the job holds an attempt whose event was deleted", () => {
  const ended = job({
    id: "a", state: "failed", attempt: 3, started_at: "2026-01-01T00:00:05Z",
    ended_at: "2026-01-01T00:00:09Z",
  });
  expect(attemptsOf([], ended)).toMatchObject([
    { number: 3, state: "failed", endedAt: "2026-01-01T00:00:09Z" },
  ]);
  expect(attemptsOf([], job({ id: "a" }))).toEqual([]);
});

it("a log keeps its newest lines, each once", () => {
  const line = (n: number) => ({ at: new Date(n).toISOString(), level: "info", message: `line ${n}` });
  const begun = begin([line(1), line(2)], [line(2), line(3)]);
  expect(begun.items.map((one) => one.message)).toEqual(["line 1", "line 2", "line 3"]);
  const later = append(begun, [line(2), line(4)]); // an event may come after the answer
  expect(later.items.map((one) => one.message)).toEqual(["line 1", "line 2", "line 3", "line 4"]);
  const long = append(NO_LINES, Array.from({ length: MOST_LINES + 5 }, (_, n) => line(n)));
  expect(long.items).toHaveLength(MOST_LINES);
  expect(long.items[0]?.number).toBe(5);
});

import { expect, test } from "vitest";
import type { Lane } from "../../api/types";
import type { Brief } from "../../live/brief";
import { keyOf, matcher, standingOf } from "./state";

const lane: Lane = {
  queue: "archive",
  lane: "nasa",
  state: "running",
  active_job: "a",
  last_job: "z",
  params: { task: "archive", params: { handle: "nasa", media: "Pictures" } },
  checkpoint: null,
};
const job = (id: string, state: Brief["state"], attempt = 1) => ({ id, state, attempt }) as Brief;

test("a lane is locked by its active job, known here or not", () => {
  expect(standingOf(lane, undefined, () => undefined).active).toEqual({ id: "a", job: undefined });
});

test("a job that has ended locks no lane and is the last one", () => {
  const ended = job("a", "failed");
  const standing = standingOf(lane, undefined, (id) => (id === "a" ? ended : undefined));
  expect(standing).toEqual({ active: null, last: { id: "a", job: ended } });
});

test("a job that was cancelled before it ran leaves the last one as it was", () => {
  const never = job("a", "cancelled", 0);
  const standing = standingOf(lane, undefined, (id) => (id === "a" ? never : undefined));
  expect(standing).toEqual({ active: null, last: { id: "z", job: undefined } });
});

test("a job that has started since the list was read locks the lane", () => {
  const idle: Lane = { ...lane, state: "idle", active_job: null };
  expect(standingOf(idle, job("b", "running"), () => undefined).active?.id).toBe("b");
});

test("a filter matches names and parameters in any case", () => {
  expect(matcher("NAS")(lane)).toBe(true);
  expect(matcher("pictures")(lane)).toBe(true);
  expect(matcher("videos")(lane)).toBe(false);
});

test("queues that differ never share a key", () => {
  expect(keyOf({ queue: "a/b", lane: "c" })).not.toBe(keyOf({ queue: "a", lane: "b/c" }));
});

import { expect, it } from "vitest";
import type { Schedule } from "../../api/types";
import { HIDDEN } from "../../live/summary";
import { changesTo, entered, newSchedule, unitOf } from "./changes";

const was: Schedule = {
  name: "nightly", task: "archive", params: { handle: "nasa", token: HIDDEN, posts: null },
  queue: "archive", lane: "nasa", priority: "normal", cron: "0 3 * * *", every_seconds: null,
  at: null, timezone: "UTC", grace_seconds: 300, coalesce: true, overlap: "skip", paused: false,
  declared: false, changed: false, next_at: null,
};
const local = (instant: string) => instant.slice(0, 19);
const form = () => entered(was, local, "UTC");
const call = { task: "archive", params: { handle: "nasa" } };

it("sends no unchanged field, so that a masked secret stays", () => {
  expect(changesTo(was, form(), form(), call)).toEqual({});
});

it("sends another rhythm alone", () => {
  const given = { ...form(), kind: "every" as const, amount: 2, unit: "hours" as const };
  expect(changesTo(was, form(), given, call)).toEqual({ every_seconds: 7200 });
});

it("sends other parameters with queue and priority, and leaves the lane to them", () => {
  const other = { task: "archive", params: { handle: "esa" } };
  expect(changesTo(was, form(), form(), other)).toEqual({
    task: "archive", params: { handle: "esa" }, queue: "archive", priority: "normal",
  });
});

it("keeps a chosen lane", () => {
  const chosen = { ...was, lane: "disk" };
  const before = entered(chosen, local, "UTC");
  const changes = changesTo(chosen, before, { ...before, priority: "high" }, call);
  expect(changes).toEqual({ queue: "archive", lane: "disk", priority: "high" });
});

it("makes a whole schedule", () => {
  const given = entered(null, local, "Europe/Berlin");
  expect(newSchedule("n", given, call)).toEqual({
    name: "n", task: "archive", params: { handle: "nasa" }, cron: "0 3 * * *",
    timezone: "Europe/Berlin", grace_seconds: 300, coalesce: true, overlap: "skip",
    priority: "normal",
  });
});

it("writes an interval in the largest unit that fits", () => {
  expect([1, 90, 120, 5400, 7200, 86_400].map(unitOf)).toEqual([
    "seconds", "seconds", "minutes", "minutes", "hours", "days",
  ]);
});

import { describe, expect, it } from "vitest";
import type { Stage } from "../api/types";
import { brief, job, live, queue } from "../testing/jobs";
import { Pace, counter, rateText, remaining, timeLeft } from "./pace";
import { can } from "./verbs";
import { busyLanes, isHeld, mostTelling, whyOf } from "./why";

describe("why a job waits", () => {
  const code = (given: Parameters<typeof brief>[0], state = live()) =>
    whyOf(brief(given), state, busyLanes(state)).code;

  it("is what the server says, where it says something", () => {
    const waiting_for = [{ code: "disk_space", message: "2 GB are missing" }];
    expect(code({ id: "a", state: "blocked", waiting_for })).toBe("disk_space");
    expect(code({ id: "a", state: "retrying" })).toBe("retry");
    expect(code({ id: "a", state: "scheduled" })).toBe("due");
  });

  it("is told from the queue, the lane and the limit otherwise", () => {
    expect(code({ id: "a" })).toBe("turn");
    expect(code({ id: "a" }, live({ counts: { mail: { running: 1 } } }))).toBe("max_concurrent");
    const running = [job({ id: "r", state: "running", lane: "ann" })];
    expect(code({ id: "a", lane: "ann" }, live({ running }))).toBe("lane");
    const paused = live({ queues: { mail: { ...queue("mail"), paused: "paused" } }, running });
    expect(code({ id: "a", lane: "ann" }, paused)).toBe("paused");
  });

  it("may be that its queue lets nothing start", () => {
    const free = queue("mail");
    expect(isHeld(free)).toBe(false);
    expect(isHeld({ ...free, paused: "after_current" })).toBe(true);
    expect(isHeld({ ...free, settings: { ...free.settings, max_concurrent: 0 } })).toBe(true);
  });

  it("is the most telling of several reasons", () => {
    const reasons = ["turn", "max_concurrent", "rate_limit"].map((one) => ({ code: one, message: "" }));
    expect(mostTelling(reasons)?.code).toBe("rate_limit");
    expect(mostTelling([...reasons, { code: "unheard_of", message: "" }])?.code).toBe("rate_limit");
    expect(mostTelling([])).toBeUndefined();
  });
});

describe("pace", () => {
  it("guesses what is left from what is done", () => {
    expect(remaining(25, 10_000)).toBe(30_000);
    expect(remaining(null, 10_000)).toBeNull();
    expect(remaining(0, 10_000)).toBeNull();
    expect(remaining(2.9, 10_000)).toBeNull();
    expect(remaining(50, 2_900)).toBeNull();
  });

  it("goes by the stage that runs, and says nothing of those that come", () => {
    const began = Date.parse("2026-01-01T00:00:00Z");
    const stage = (status: Stage["status"], percent: number, started_at: string | null) =>
      ({ name: status, status, percent, started_at, message: "", finished_at: null }) as Stage;
    const done = stage("done", 100, "2026-01-01T00:00:00Z");
    const runs = stage("running", 20, "2026-01-01T00:01:00Z");
    const comes = stage("pending", 0, null);
    const left = (...stages: Stage[]) =>
      timeLeft(
        { started_at: "2026-01-01T00:00:00Z", progress: { percent: 60, message: "" }, stages },
        began + 70_000,
      );
    expect(left(done, runs)).toEqual({ milliseconds: 40_000, isOfStage: false });
    expect(left(done, runs, comes)).toEqual({ milliseconds: 40_000, isOfStage: true });
    expect(left(done, { ...runs, percent: 1 })).toBeNull();
    expect(left(done, comes)).toBeNull();
    expect(left()).toMatchObject({ isOfStage: false });
  });

  it("measures how fast a counter grows", () => {
    expect(counter({ note: "x", saved: 3, bytes: 9 })).toEqual(["saved", 3]);
    const pace = new Pace();
    expect(pace.add(0, 0)).toBeNull();
    expect(pace.add(10, 2_000)).toBe(5);
    expect(pace.add(0, 3_000)).toBeNull();
    expect(rateText(0.123)).toBe("0.12");
    expect(rateText(12.34)).toBe("12.3");
  });
});

it("only what is legal is offered", () => {
  expect(can(brief({ id: "a" }), "move")).toBe(true);
  expect(can(brief({ id: "a", position: null, state: "blocked" }), "move")).toBe(false);
  expect(can(brief({ id: "a", state: "completed" }), "retry")).toBe(false);
  expect(can(brief({ id: "a", state: "failed" }), "retry")).toBe(true);
});

import { describe, expect, it } from "vitest";
import type { Job, Stage } from "../api/types";
import { brief, job, live, queue } from "../testing/jobs";
import { figuresText } from "./figures";
import { Pace, counter, rateText, remaining, timeLeft } from "./pace";
import { noteOf } from "./note";
import { can } from "./verbs";
import { busyLanes, isHeld, mostUseful, whyOf } from "./why";

describe("why a job waits", () => {
  const code = (given: Parameters<typeof brief>[0], state = live()) =>
    whyOf(brief(given), state, busyLanes(state)).code;

  it("is the reason from the server, if there is one", () => {
    const waiting_for = [{ code: "disk_space", message: "2 GB are missing" }];
    expect(code({ id: "a", state: "blocked", waiting_for })).toBe("disk_space");
    expect(code({ id: "a", state: "retrying" })).toBe("retry");
    expect(code({ id: "a", state: "scheduled" })).toBe("due");
  });

  it("is derived from the queue, the lane and the limit otherwise", () => {
    expect(code({ id: "a" })).toBe("turn");
    expect(code({ id: "a" }, live({ counts: { mail: { running: 1 } } }))).toBe("max_concurrent");
    const running = [job({ id: "r", state: "running", lane: "ann" })];
    expect(code({ id: "a", lane: "ann" }, live({ running }))).toBe("lane");
    const paused = live({ queues: { mail: { ...queue("mail"), paused: "paused" } }, running });
    expect(code({ id: "a", lane: "ann" }, paused)).toBe("paused");
  });

  it("may be a queue that starts no job", () => {
    const free = queue("mail");
    expect(isHeld(free)).toBe(false);
    expect(isHeld({ ...free, paused: "after_current" })).toBe(true);
    expect(isHeld({ ...free, settings: { ...free.settings, max_concurrent: 0 } })).toBe(true);
  });

  it("is the most telling of several reasons", () => {
    const reasons = ["turn", "max_concurrent", "rate_limit"].map((one) => ({ code: one, message: "" }));
    expect(mostUseful(reasons)?.code).toBe("rate_limit");
    expect(mostUseful([...reasons, { code: "unheard_of", message: "" }])?.code).toBe("rate_limit");
    expect(mostUseful([])).toBeUndefined();
  });
});

describe("pace", () => {
  it("estimates the remaining time from the progress", () => {
    expect(remaining(25, 10_000)).toBe(30_000);
    expect(remaining(null, 10_000)).toBeNull();
    expect(remaining(0, 10_000)).toBeNull();
    expect(remaining(2.9, 10_000)).toBeNull();
    expect(remaining(50, 2_900)).toBeNull();
  });

  it("depends on the running stage only", () => {
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

it("only legal actions are offered", () => {
  expect(can(brief({ id: "a" }), "move")).toBe(true);
  expect(can(brief({ id: "a", position: null, state: "blocked" }), "move")).toBe(false);
  expect(can(brief({ id: "a", state: "completed" }), "retry")).toBe(false);
  expect(can(brief({ id: "a", state: "failed" }), "retry")).toBe(true);
});

describe("figures", () => {
  const text = (given: object) => figuresText(brief({ id: "a", state: "running", ...given }), String);

  it("have the unit in their name, and zeros are left out", () => {
    const statistics = { downloaded: 12, skipped: 0, failed: 1, bytes: 4_200_000, trouble: "slow" };
    expect(text({ statistics })).toBe("downloaded 12 · failed 1 · 4.2 MB");
    expect(text({ statistics: { bytes_so_far: 2000, left_seconds: 75 } })).toBe("bytes so far 2.0 kB · left 1m 15s");
    expect(text({ statistics: { downloaded: 0, skipped: 0 } })).toBe("downloaded 0");
    expect(text({ statistics: { note: "x", rate: Infinity } })).toBe("");
  });

  it("are those of the result where a job has ended with some, shares first", () => {
    const result = { output: "b", before_bytes: 1000, saved_bytes: 710, saved_percent: 71.04 };
    const given = { statistics: { speed: 3 }, result };
    expect(text({ ...given, state: "completed" })).toBe("saved 71% · before 1.0 kB · saved 710 B");
    expect(text(given)).toBe("speed 3");
    expect(text({ state: "completed", statistics: { speed: 3 }, result: [1] })).toBe("speed 3");
  });

  it("are the note of an ended job without an error", () => {
    const given = { id: "a", state: "failed" as const, params: { limit: 5 }, statistics: { saved: 2 } };
    expect(noteOf(brief({ ...given, state: "completed" }), String, String)).toBe("saved 2 · limit: 5");
    const error = { code: "slow", message: "too slow" } as Job["error"];
    expect(noteOf(brief({ ...given, error }), String, String)).toBe("too slow");
  });
});

import { beforeEach, describe, expect, it } from "vitest";
import { afterState, brief, event, job, live } from "../testing/jobs";
import { reduce } from "./reduce";

const ids = (jobs: readonly { id: string }[] | undefined) => (jobs ?? []).map((one) => one.id);

function mail(...names: string[]) {
  return live({
    waiting: { mail: names.map((id) => job({ id })) },
    counts: { mail: { queued: names.length } },
  });
}

beforeEach(afterState);

describe("states", () => {
  it("moves a job from the line to running and to ended", () => {
    const started = reduce(mail("a", "b"), [
      event("job_state_changed", "a", { state: "running", from: "queued", attempt: 1, worker: "w" }),
    ]).live;
    expect([...started.running.keys()]).toEqual(["a"]);
    expect(started.running.get("a")).toMatchObject({ attempt: 1, started_at: "2026-01-01T00:01:00Z" });
    expect(ids(started.waiting.mail?.jobs)).toEqual(["b"]);
    expect(started.counts.mail).toEqual({ queued: 1, running: 1 });

    const error = { code: "task_error", message: "no" };
    const ended = reduce(started, [
      event("job_state_changed", "a", { state: "failed", from: "running", error }),
    ]).live;
    expect(ended.running.size).toBe(0);
    expect(ended.ended[0]).toMatchObject({ id: "a", state: "failed", position: null, error });
    expect(ended.counts.mail).toEqual({ queued: 1, running: 0 });
  });

  it("asks for jobs it does not know, and counts them all the same", () => {
    const { live: next, toLoad } = reduce(mail("a"), [
      event("job_state_changed", "new", { state: "queued", from: "created" }),
    ]);
    expect([...toLoad.jobs]).toEqual([["new", "queued"]]);
    expect(next.counts.mail).toEqual({ queued: 2 });
  });

  it("loads a job that returns to the queue, which may have a new position", () => {
    const state = live({ ended: [job({ id: "a", state: "failed", position: null })] });
    const { toLoad } = reduce(state, [
      event("job_state_changed", "a", { state: "queued", from: "failed", retried: true }),
    ]);
    expect(toLoad.jobs.has("a")).toBe(true);
  });

  it("keeps the newest fifty that ended", () => {
    const events = Array.from({ length: 60 }, (_, index) => [
      event("job_state_changed", `j${index}`, { state: "completed", from: "running" }),
    ]).flat();
    const running = events.map(({ job: id }) => job({ id: id!, state: "running" }));
    const next = reduce(live({ running }), events).live;
    expect(next.ended).toHaveLength(50);
    expect(next.ended[0]?.id).toBe("j59");
  });
});

describe("order", () => {
  it("places a moved job by its new position and priority", () => {
    const next = reduce(mail("a", "b", "c"), [
      event("job_moved", "c", { position: "a8", priority: "normal" }),
      event("job_moved", "b", { position: "b", priority: "high" }),
    ]).live;
    expect(ids(next.waiting.mail?.jobs)).toEqual(["b", "a", "c"]);
  });

  it("does not show a job behind the loaded part of a long line", () => {
    const state = live({
      waiting: { mail: [job({ id: "a" }), job({ id: "b" })] },
      counts: { mail: { queued: 5 } },
    });
    const next = reduce(state, [event("job_moved", "a", { position: "z", priority: "normal" })]).live;
    expect(ids(next.waiting.mail?.jobs)).toEqual(["b"]);
  });
});

describe("progress", () => {
  it("changes only the running job", () => {
    const state = live({
      running: [job({ id: "a", state: "running" }), job({ id: "b", state: "running" })],
      waiting: { mail: [job({ id: "c" })] },
    });
    const next = reduce(state, [
      event("job_progress", "a", { stage: null, progress: { percent: 40, message: "page 2" } }),
    ]).live;
    expect(next.running.get("a")?.progress.percent).toBe(40);
    expect(next.running.get("b")).toBe(state.running.get("b"));
    expect(next.waiting).toBe(state.waiting);
  });

  it("shows what a stage waits for until it runs", () => {
    const state = live({ running: [job({ id: "a", state: "running" })] });
    const reason = { code: "resource", message: 'stage "asr": needs 1 of "gpu"' };
    const stage = { name: "asr", status: "pending", message: 'waits for 1 of "gpu"' };
    const waits = reduce(state, [
      event("job_progress", "a", { stage: "asr", stages: [stage], waiting_for: [reason] }),
    ]).live;
    expect(waits.running.get("a")?.waiting_for).toEqual([reason]);
    const runs = reduce(waits, [
      { ...event("job_progress", "a", { stage: "asr" }), seq: waits.seq + 1, prev: waits.seq },
    ]).live;
    expect(runs.running.get("a")?.waiting_for).toEqual([]);
  });

  it("asks once more for a job that is not known yet", () => {
    const { toLoad } = reduce(live({}), [event("job_progress", "new", { progress: { percent: 1 } })]);
    expect([...toLoad.jobs]).toEqual([["new", "running"]]);
  });

  it("marks a job that is stopping, and one that does not stop", () => {
    const state = live({ running: [job({ id: "a", state: "running" })] });
    const next = reduce(state, [
      event("job_stopping", "a", { outputs: "keep", force: false }),
      event("job_stuck", "a", { message: "it still runs" }),
    ]).live;
    expect(next.running.get("a")).toMatchObject({
      stopping: true,
      waiting_for: [{ code: "stuck", message: "it still runs" }],
    });
  });
});

describe("the stream", () => {
  it("skips events that the state includes", () => {
    const state = mail("a");
    const old = { ...event("job_moved", "a", { position: "0", priority: "high" }), seq: 9, prev: 8 };
    expect(reduce(state, [old]).live).toBe(state);
  });

  it("stops at a gap", () => {
    const first = event("job_moved", "a", { position: "a1", priority: "normal" });
    const missing = event("job_moved", "a", { position: "a2", priority: "normal" });
    const last = event("job_moved", "a", { position: "a3", priority: "normal" });
    expect(missing.seq).toBe(last.prev);
    const reduced = reduce(mail("a"), [first, last]);
    expect(reduced.gap).toBe(true);
    expect(reduced.live.seq).toBe(first.seq);
    expect(reduced.live.waiting.mail?.jobs[0]?.position).toBe("a1");
  });

  it("ignores unknown events and counts them", () => {
    const unknown = event("something_new", null, {});
    const reduced = reduce(mail("a"), [unknown]);
    expect(reduced.live.seq).toBe(unknown.seq);
    expect(reduced.gap).toBe(false);
  });

  it("pauses a queue at once and asks for the rest of it", () => {
    const { live: next, toLoad } = reduce(mail(), [event("queue_changed", null, { paused: "paused" })]);
    expect(next.queues.mail?.paused).toBe("paused");
    expect(toLoad.queues).toBe(true);
  });
});

it("keeps a line of a job's parameters, not the parameters", () => {
  const kept = brief({ id: "a", params: { to: "ann", text: "x".repeat(10_000), tags: [1, 2] } });
  expect(kept.summary.length).toBeLessThanOrEqual(160);
  expect(kept.summary).toMatch(/^to: ann · text: x+/);
  expect("params" in kept).toBe(false);
});

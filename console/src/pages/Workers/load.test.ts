import { expect, it } from "vitest";
import type { Device, Worker } from "../../api/types";
import { brief } from "../../testing/jobs";
import { loadsOf, matcher } from "./load";

const worker = (id: string, host: string): Worker => ({
  id, name: `worker ${id}`, slots: 2, tasks: ["send"], queues: null, labels: ["gpu"], device: false,
  accepting: true, host, pid: 7, note: "", seen_at: null,
});

it("gives each worker its running jobs in a stable order", () => {
  const running = [
    brief({ id: "1", state: "running", worker: "worker b" }),
    brief({ id: "2", state: "running", worker: "a" }),
    brief({ id: "3", state: "running", worker: "worker b" }),
    brief({ id: "4", state: "running", worker: "gone" }),
  ];
  const loads = loadsOf([worker("b", "east"), worker("a", "west")], running);
  expect(loads.map(({ worker: { id }, jobs }) => [id, jobs.map((job) => job.id)])).toEqual([
    ["b", ["1", "3"]],
    ["a", ["2"]],
  ]);
});

it("finds workers by host, task or label", () => {
  for (const text of ["EAST", "gp", "send", ""]) expect(matcher(text)(worker("b", "east"))).toBe(true);
  expect(matcher("west")(worker("b", "east"))).toBe(false);
});

it("shows a stored device that no process drives", () => {
  const phone = (name: string): Device => ({
    name, queue: "phones", labels: ["eu"], settings: {}, paused: true, state: "down", note: "",
    seen_at: null, worker: null, job: null,
  });
  const driven = { ...worker("w/pixel", "east"), name: "pixel", device: true };
  const loads = loadsOf([driven], [], [phone("pixel"), phone("galaxy")]);
  expect(loads.map((load) => [load.worker.name, load.worker.slots, load.device?.paused])).toEqual([
    ["galaxy", 0, true],
    ["pixel", 2, true],
  ]);
});

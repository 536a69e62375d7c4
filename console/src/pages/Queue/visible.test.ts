import { expect, it } from "vitest";
import { job, live, queue } from "../../testing/jobs";
import { visibleQueues } from "./visible";

const queues = { mail: queue("mail"), default: queue("default") };

it("leaves out the default queue if only other queues are used", () => {
  expect(visibleQueues(live({ queues }))).toEqual(["mail"]);
  expect(visibleQueues(live({ queues: { default: queue("default") } }))).toEqual(["default"]);
});

it("shows the default queue once it has a job or a changed setting", () => {
  const both = ["default", "mail"];
  expect(visibleQueues(live({ queues, counts: { default: { running: 1 } } }))).toEqual(both);
  expect(visibleQueues(live({ queues, counts: { default: { blocked: 1 } } }))).toEqual(both);
  const ended = [job({ id: "a", queue: "default", state: "completed" })];
  expect(visibleQueues(live({ queues, ended }))).toEqual(both);
  const paused = { ...queues, default: { ...queue("default"), paused: "paused" as const } };
  expect(visibleQueues(live({ queues: paused }))).toEqual(both);
});

import { expect, it } from "vitest";
import { event } from "../testing/jobs";
import { settledBy } from "./settled";

const ends = (id: string, state = "completed") => event("job_state_changed", id, { state });

it("names the jobs that have just ended", () => {
  const events = [ends("a"), ends("b", "running"), event("job_log", "c"), ends("d", "failed")];
  expect([...settledBy(events)]).toEqual([["a", "completed"], ["d", "failed"]]);
  expect(settledBy([ends("a", "failed"), ends("a", "queued")]).size).toBe(0);
});

it("names none where many end at a time", () => {
  expect(settledBy(["a", "b", "c", "d"].map((id) => ends(id))).size).toBe(0);
});

import { expect, it } from "vitest";
import { brief, job, live } from "../testing/jobs";
import { withLoadedTails, withLine } from "./longline";

const ids = (jobs: readonly { id: string }[] | undefined) => (jobs ?? []).map((one) => one.id);

function longLine() {
  return live({
    waiting: { mail: [job({ id: "a" }), job({ id: "b" })] },
    counts: { mail: { queued: 4 } },
  });
}

it("puts a whole line in place of its beginning, in order", () => {
  const read = ["d", "c", "b", "a"].map((id) => brief({ id }));
  const next = withLine(longLine(), "mail", { jobs: read, isLast: true }, new Set());
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "b", "c", "d"]);
  expect(next.waiting.mail?.isWhole).toBe(true);
});

it("prefers the state for jobs that had an event", () => {
  const read = [brief({ id: "a", position: "z" }), brief({ id: "c" }), brief({ id: "gone" })];
  const next = withLine(longLine(), "mail", { jobs: read, isLast: true }, new Set(["a", "gone"]));
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "c"]);
});

it("keeps the known tail of a line when the state is loaded again", () => {
  const jobs = ["a", "b", "c", "d"].map((id) => brief({ id }));
  const before = withLine(longLine(), "mail", { jobs, isLast: true }, new Set());
  const next = withLoadedTails(longLine(), before);
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "b", "c", "d"]);
  expect(next.waiting.mail?.isWhole).toBe(false);
});

it("shows the first part of a line before the rest has come", () => {
  const jobs = ["a", "b", "c"].map((id) => brief({ id }));
  const next = withLine(longLine(), "mail", { jobs, isLast: false }, new Set());
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "b", "c"]);
  expect(next.waiting.mail?.isWhole).toBe(false);
});

it("drops jobs that a newer part no longer has, and keeps the tail", () => {
  const known = { jobs: ["a", "b", "x"].map((id) => brief({ id })), isLast: false };
  const before = withLine(longLine(), "mail", known, new Set());
  const next = withLine(before, "mail", { jobs: [brief({ id: "b" })], isLast: false }, new Set());
  expect(ids(next.waiting.mail?.jobs)).toEqual(["b", "x"]);
});

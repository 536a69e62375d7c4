import { expect, it } from "vitest";
import { brief, job, live } from "../testing/jobs";
import { withKnownTails, withLine } from "./whole";

const ids = (jobs: readonly { id: string }[] | undefined) => (jobs ?? []).map((one) => one.id);

function longLine() {
  return live({
    waiting: { mail: [job({ id: "a" }), job({ id: "b" })] },
    counts: { mail: { queued: 4 } },
  });
}

it("puts a whole line in place of its beginning, in order", () => {
  const read = ["d", "c", "b", "a"].map((id) => brief({ id }));
  const next = withLine(longLine(), "mail", read, new Set());
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "b", "c", "d"]);
  expect(next.waiting.mail?.isWhole).toBe(true);
});

it("trusts the state more than the reading about what events have touched", () => {
  const read = [brief({ id: "a", position: "z" }), brief({ id: "c" }), brief({ id: "gone" })];
  const next = withLine(longLine(), "mail", read, new Set(["a", "gone"]));
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "c"]);
});

it("keeps the known end of a line when the state is taken anew", () => {
  const before = withLine(longLine(), "mail", ["a", "b", "c", "d"].map((id) => brief({ id })), new Set());
  const next = withKnownTails(longLine(), before);
  expect(ids(next.waiting.mail?.jobs)).toEqual(["a", "b", "c", "d"]);
  expect(next.waiting.mail?.isWhole).toBe(false);
});

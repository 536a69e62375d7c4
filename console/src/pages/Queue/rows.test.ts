import { describe, expect, it } from "vitest";
import { brief } from "../../testing/jobs";
import { dropAt, keyOf, layOut, matcher, stepOf } from "./rows";

const high = brief({ id: "h", priority: "high" });
const first = brief({ id: "n1" });
const second = brief({ id: "n2" });
const unordered = brief({ id: "u", position: null, state: "blocked" });
const line = { queue: "mail", jobs: [high, first, second, unordered], strict: false };
const { rows, places } = layOut([line], null);

describe("rows", () => {
  it("are under the heading of their priority, with their position", () => {
    expect(rows.map(keyOf)).toEqual(["mail high", "h", "mail normal", "n1", "n2", "mail none", "u"]);
    expect(places).toEqual([0, 1, 0, 2, 3, 0, 0]);
  });

  it("keep their position under a filter", () => {
    const layout = layOut([line], (job) => job.id === "n2");
    expect(layout.rows.map(keyOf)).toEqual(["mail normal", "n2"]);
    expect(layout.places).toEqual([0, 3]);
  });

  it("have a heading for every priority while a job is dragged", () => {
    const layout = layOut([{ ...line, jobs: [first] }], null, "mail");
    expect(layout.rows.map(keyOf)).toEqual(["mail high", "mail normal", "n1", "mail low"]);
  });

  it("know no priorities in a strict queue", () => {
    const layout = layOut([{ ...line, jobs: [high, first], strict: true }], null, "mail");
    expect(layout.rows.map(keyOf)).toEqual(["mail strict", "h", "n1"]);
  });
});

describe("a drop", () => {
  it("goes after the row above", () => {
    expect(dropAt(rows, 4, high)).toEqual({ move: { after: "n1" } });
  });

  it("goes before the first row under a heading", () => {
    expect(dropAt(rows, 1, second)).toEqual({ move: { before: "h" } });
    expect(dropAt(rows, 3, second)).toEqual({ move: { before: "n1" } });
  });

  it("changes the priority where a priority is empty", () => {
    const layout = layOut([{ ...line, jobs: [first] }], null, "mail");
    expect(dropAt(layout.rows, 1, first)).toEqual({ priority: "high" });
    expect(dropAt(layout.rows, 4, first)).toEqual({ priority: "low" });
  });

  it("is null at the same position, in another queue or without a position", () => {
    expect(dropAt(rows, 4, first)).toBeNull();
    expect(dropAt(rows, 5, second)).toBeNull();
    expect(dropAt(rows, 2, brief({ id: "x", queue: "other" }))).toBeNull();
    expect(dropAt(rows, 7, first)).toBeNull();
    expect(dropAt(rows, 0, first)).toBeNull();
  });
});

describe("a step", () => {
  it("goes over the next job", () => {
    expect(stepOf(rows, second, -1)).toEqual({ move: { before: "n1" } });
    expect(stepOf(rows, first, 1)).toEqual({ move: { after: "n2" } });
  });

  it("goes over a heading into the next priority", () => {
    expect(stepOf(rows, first, -1)).toEqual({ move: { after: "h" } });
    expect(stepOf(rows, high, 1)).toEqual({ move: { before: "n1" } });
  });

  it("opens a priority that is empty", () => {
    expect(stepOf(rows, second, 1)).toEqual({ priority: "low" });
    const only = layOut([{ ...line, jobs: [first] }], null).rows;
    expect(stepOf(only, first, -1)).toEqual({ priority: "high" });
    expect(stepOf(rows, high, -1)).toBeNull();
  });
});

it("a filter matches task, lane, parameters and id in any case", () => {
  const job = brief({ id: "0198f1", task: "archive", lane: "NASA", params: { page: 7 } });
  for (const text of ["ARCH", "nasa", "page: 7", "98f"]) expect(matcher(text)?.(job)).toBe(true);
  expect(matcher("esa")?.(job)).toBe(false);
  expect(matcher("  ")).toBeNull();
});

import { expect, it } from "vitest";
import { append, renew } from "./merge";
import { choiceOf, isNarrowed, statesOf, filterOf } from "./filter";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const read = (query: string) => choiceOf(new URLSearchParams(query));
const jobs = (ids: string, next: string | null = "n") => ({
  items: [...ids].map((id) => ({ id })),
  next,
});
const ids = (found: { items: readonly { id: string }[] }) => found.items.map(({ id }) => id).join("");

it("searches all ended jobs by default", () => {
  expect(statesOf(read(""))).toEqual(["completed", "failed", "cancelled", "skipped"]);
  expect(statesOf(read("state=failed&state=nonsense"))).toEqual(["failed"]);
  expect(statesOf(read("state=failed&live=1"))).toContain("running");
  expect(isNarrowed(read("queue=mail"))).toBe(false);
  expect(isNarrowed(read("q=ann"))).toBe(true);
});

it("reads a range as a time before now, and passes over nonsense", () => {
  expect(filterOf(read("range=24h"), NOW).since).toBe("2026-01-01T00:00:00.000Z");
  expect(filterOf(read("range=never&since=2026-01-01T00:00:00Z"), NOW).since).toBeUndefined();
  expect(filterOf(read("range=own&since=2026-01-01T00:00:00Z&until=x"), NOW)).toMatchObject({
    since: "2026-01-01T00:00:00Z",
    until: undefined,
  });
});

it("puts pages behind one another, each job once", () => {
  expect(ids(append(jobs("abc"), jobs("cd", null)))).toBe("abcd");
});

it("puts newer jobs in front and removes those that have left", () => {
  expect(ids(renew(jobs("abcdef"), jobs("xabc")))).toBe("xabcdef");
  expect(ids(renew(jobs("abcdef"), jobs("acd")))).toBe("acdef");
});

it("starts again if jobs in between may be missing", () => {
  expect(ids(renew(jobs("abc"), jobs("xyz")))).toBe("xyz");
  expect(ids(renew(jobs("abc"), jobs("xb", null)))).toBe("xb");
  expect(ids(renew(jobs("abcd"), jobs("bxy")))).toBe("bxy");
});

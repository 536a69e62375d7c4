import { expect, it } from "vitest";
import { hrefOf, parse } from "./hash";

it("reads a path and a query, and writes the same", () => {
  const place = parse("#/jobs/a%2Fb?q=x%3Fy&state=failed&state=skipped");
  expect(place.path).toEqual(["jobs", "a/b"]);
  expect(place.query.getAll("state")).toEqual(["failed", "skipped"]);
  expect(place.query.get("q")).toBe("x?y");
  expect(hrefOf(place)).toBe("#/jobs/a%2Fb?q=x%3Fy&state=failed&state=skipped");
});

it("reads an empty hash and a mistyped one", () => {
  expect(parse("").path).toEqual([]);
  expect(parse("#/lanes/100%").path).toEqual(["lanes", "100%"]);
});

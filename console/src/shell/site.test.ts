import { expect, test } from "vitest";
import { pageBefore } from "./site";

const origin = "http://localhost:8420";

test("it is a page of this server, with its query", () => {
  expect(pageBefore("?next=%2Fa%20b%3Fq%3D1%262", origin)).toBe(`${origin}/a%20b?q=1&2`);
  expect(pageBefore("?next=/", origin)).toBe(`${origin}/`);
});

test("an address of another server is none", () => {
  for (const next of ["", "a", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example"])
    expect(pageBefore(`?next=${encodeURIComponent(next)}`, origin)).toBe(null);
  expect(pageBefore("", origin)).toBe(null);
});

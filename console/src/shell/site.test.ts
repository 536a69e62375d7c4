import { expect, test } from "vitest";
import { pageBefore } from "./site";

const origin = "http://localhost:8420";
const before = (rest: string) => pageBefore(new URL(`/queue/${rest}`, origin));

test("it is a page of this server, with its query and its hash", () => {
  expect(before("?next=%2Fa%20b%3Fq%3D1%262")).toBe(`${origin}/a%20b?q=1&2`);
  expect(before("?next=/#/task/7")).toBe(`${origin}/#/task/7`);
  expect(before("?next=/%23top#/queue")).toBe(`${origin}/#top`);
});

test("an address of another server is none", () => {
  for (const next of ["", "a", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example"])
    expect(before(`?next=${encodeURIComponent(next)}`)).toBe(null);
  expect(before("")).toBe(null);
});

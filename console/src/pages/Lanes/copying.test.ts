import { expect, test } from "vitest";
import { HIDDEN } from "../../live/summary";
import { carry, secretsIn } from "./copying";

const from = { queue: "archive", lane: "nasa" };
const to = { queue: "archive", lane: "esa" };

test("a parameter that named the lane names the other one", () => {
  const call = { task: "archive", params: { handle: "nasa", posts: 40, tags: ["nasa"] } };
  expect(carry(call, from, to)).toEqual({
    task: "archive",
    params: { handle: "esa", posts: 40, tags: ["nasa"] },
  });
});

test("a secret is not copied as its mask", () => {
  const call = { task: "archive", params: { handle: "nasa", token: HIDDEN } };
  expect(carry(call, from, to).params).toEqual({ handle: "esa" });
  expect(secretsIn(call.params)).toEqual(["token"]);
});

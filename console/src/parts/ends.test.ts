import { expect, it } from "vitest";
import { endsOf } from "./ends";

it("splits a long name so that its end stays visible", () => {
  expect(endsOf("http://127.0.0.1:40213/@slow1")).toEqual(["http://127.0.0.1:", "40213/@slow1"]);
  expect(endsOf("@ann@example.o")).toBeNull();
});

it("tears no sign in two", () => {
  const [head, tail] = endsOf("🎞".repeat(30))!;
  expect(head + tail).toBe("🎞".repeat(30));
  expect([...tail]).toHaveLength(12);
});

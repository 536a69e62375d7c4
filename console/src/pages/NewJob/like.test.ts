import { expect, it } from "vitest";
import { fieldsOf } from "../../forms/schema";
import { job } from "../../testing/jobs";
import { chosenLike, valuesLike } from "./like";

const task = { name: "send", text: "", queue: "mail", parameters: {} };

it("fills the form from the job, without secrets", () => {
  const fields = fieldsOf({
    required: ["to"],
    properties: {
      to: { type: "string" },
      copies: { type: "integer", default: 1 },
      note: { anyOf: [{ type: "string" }, { type: "null" }], default: "hello" },
      token: { type: "string", format: "password" },
      key: { type: "string" },
    },
  });
  const params = { to: "ann", copies: 3, note: null, token: "**********", key: "**********" };
  expect(valuesLike(fields, params)).toEqual({ to: "ann", copies: "3", note: "", token: "", key: "" });
});

it("copies lane and priority, and a queue that is not the default", () => {
  const given = job({ id: "a", lane: "printer", priority: "high", params: { to: "ann" } });
  expect(chosenLike(given, task)).toMatchObject({ queue: "", lane: "printer", priority: "high" });
  expect(chosenLike({ ...given, queue: "night" }, task).queue).toBe("night");
});

it("leaves a lane to the task where a parameter names it", () => {
  const given = job({ id: "a", lane: "ann", params: { to: "ann" } });
  expect(chosenLike(given, task).lane).toBe("");
});

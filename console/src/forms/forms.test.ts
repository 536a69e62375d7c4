import { describe, expect, it } from "vitest";
import { sortProblems } from "./problems";
import { initial, read, readAll } from "./values";
import { fieldsOf } from "./schema";

const schema = {
  type: "object",
  required: ["handle", "mode"],
  properties: {
    limit: { type: "integer", default: 1000, minimum: 1, description: "How many" },
    handle: { type: "string", maxLength: 20 },
    token: { anyOf: [{ type: "string", format: "password", writeOnly: true }, { type: "null" }], default: null },
    mode: { $ref: "#/$defs/Mode" },
    tags: { type: "array", items: { type: "string" }, default: [] },
    sizes: { type: "array", items: { type: "integer" } },
    deep: { type: "boolean", default: false },
    note: { anyOf: [{ type: "string" }, { type: "null" }], default: "hello" },
    filter: { type: "object", additionalProperties: true },
    since: { type: "string", format: "date-time" },
    either: { anyOf: [{ type: "string" }, { type: "integer" }] },
    kinds: { type: "array", items: { $ref: "#/$defs/Mode" }, default: ["fast", "slow"] },
    levels: { type: "array", items: { enum: [1, 2, 3], type: "integer" }, default: [] },
  },
  $defs: { Mode: { enum: ["fast", "slow"], type: "string" } },
};
const fields = fieldsOf(schema);
const field = (name: string) => fields.find((one) => one.name === name)!;

describe("fields", () => {
  it("come with those first that must be filled in", () => {
    expect(fields.slice(0, 3).map((one) => one.name)).toEqual(["handle", "mode", "limit"]);
  });

  it("have a kind", () => {
    const kinds = Object.fromEntries(fields.map((one) => [one.name, one.kind]));
    expect(kinds).toEqual({
      limit: "integer", handle: "text", token: "secret", mode: "choice", tags: "list",
      sizes: "list", deep: "boolean", note: "text", filter: "json", since: "instant", either: "json",
      kinds: "choices", levels: "choices",
    });
  });

  it("have their defaults", () => {
    expect(initial(fields)).toMatchObject({ limit: "1000", handle: "", token: "", deep: "false", note: "hello" });
  });
});

describe("reading", () => {
  it("gives values of their kind", () => {
    expect(read(field("limit"), "12")).toBe(12);
    expect(read(field("mode"), "1")).toBe("slow");
    expect(read(field("tags"), "a\n\n b ")).toEqual(["a", "b"]);
    expect(read(field("sizes"), "1\n2")).toEqual([1, 2]);
    expect(read(field("deep"), "true")).toBe(true);
    expect(read(field("filter"), '{"a": 1}')).toEqual({ a: 1 });
    expect(read(field("either"), "7")).toBe(7);
  });

  it("begins with the given values, also null", () => {
    expect(initial(fields, { limit: 5, note: null })).toMatchObject({ limit: "5", note: "", deep: "false" });
  });

  it("reads a list of a few choices by their indexes", () => {
    expect(initial(fields)).toMatchObject({ kinds: "0\n1", levels: "" });
    expect(initial(fields, { kinds: ["slow"], levels: [3, 1] })).toMatchObject({ kinds: "1", levels: "0\n2" });
    expect(read(field("kinds"), "1")).toEqual(["slow"]);
    expect(read(field("levels"), "0\n2")).toEqual([1, 3]);
    expect(read(field("kinds"), "")).toEqual([]);
    expect(read(field("levels"), "")).toBeUndefined();
  });

  it("omits empty fields, unless an empty value has a meaning", () => {
    expect(read(field("handle"), "")).toBeUndefined();
    expect(read(field("token"), "")).toBeUndefined();
    expect(read(field("note"), "")).toBeNull();
    expect(read(field("tags"), "")).toBeUndefined();
  });

  it("reports the field that cannot be parsed", () => {
    const { params, problems } = readAll(fields, { handle: "nasa", limit: "many", filter: "{" });
    expect(params).toEqual({ handle: "nasa", note: null, kinds: [] });
    expect(Object.keys(problems).sort()).toEqual(["filter", "limit"]);
    expect(problems.limit?.word).toBe("new.bad_number");
  });
});

it("the server's messages go to their fields", () => {
  const sorted = sortProblems(
    [
      { where: "handle", message: "Field required" },
      { where: "tags.0", message: "too long" },
      { where: "body.lane", message: "too long" },
      { where: "handel", message: "not permitted" },
    ],
    ["handle", "tags", "lane"],
  );
  expect(sorted.fields).toEqual({ handle: "Field required", tags: "0: too long", lane: "too long" });
  expect(sorted.rest).toEqual(["handel: not permitted"]);
});

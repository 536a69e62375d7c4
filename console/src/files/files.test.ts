import { expect, it } from "vitest";
import type { Task } from "../api/types";
import { initial, readAll } from "../forms/values";
import { fieldsOf } from "../forms/schema";
import { chosen } from "./dropped";
import { fitting, unusual } from "./options";
import { nearest, targetsOf } from "./targets";

const FILE = { type: "string", format: "file" };
const task = (name: string, properties: object, required: string[], queue = "default"): Task => ({
  name, text: "", queue, parameters: { type: "object", properties, required },
});

it("finds the tasks whose only required parameter is a file", () => {
  const tasks = [
    task("shrink", { file: FILE, quality: { type: "integer", default: 3 } }, ["file"]),
    task("two", { one: FILE, other: FILE }, ["one", "other"]),
    task("text", { file: { type: "string" } }, ["file"]),
    task("maybe", { file: { anyOf: [FILE, { type: "null" }], default: null } }, []),
    task("list", { files: { type: "array", items: FILE } }, ["files"]),
    task("bounded", { file: { allOf: [{ ...FILE, minLength: 1 }] } }, ["file"]),
  ];
  expect(targetsOf(tasks).map(({ task, parameter }) => [task, parameter])).toEqual([
    ["shrink", "file"], ["bounded", "file"],
  ]);
});

it("offers the optional parameters, but no secret, which would be stored", () => {
  const properties = {
    file: FILE, preset: { enum: ["best", "small"], default: "best" },
    token: { type: "string", format: "password", default: "" },
  };
  const [target] = targetsOf([task("shrink", properties, ["file"])]);
  expect(target?.options.map(({ name }) => name)).toEqual(["preset"]);
});

const OPTIONS = fieldsOf({
  properties: {
    preset: { enum: ["best", "small"], default: "best" },
    deep: { type: "boolean", default: true },
    quality: { anyOf: [{ type: "integer" }, { type: "null" }], default: null },
    lines: { anyOf: [{ type: "integer" }, { type: "null" }], default: 720 },
    tags: { type: "array", items: { type: "string" }, default: [] },
  },
});

it("returns the options that differ from the defaults", () => {
  const params = { preset: "small", deep: true, lines: null, tags: [] };
  expect(unusual(OPTIONS, { params })).toEqual({ preset: "small", lines: null });
});

it("ignores options that only read differently", () => {
  const odd = fieldsOf({
    properties: {
      when: { type: "string", format: "date-time", default: "2020-01-01T00:00:00Z" },
      kinds: { type: "array", items: { enum: ["x", "y"] }, default: ["y", "x"] },
      note: { anyOf: [{ type: "string" }, { type: "null" }], default: "" },
    },
  });
  expect(unusual(odd, readAll(odd, initial(odd)))).toEqual({});
});

it("keeps a choice as long as the program has it", () => {
  const kept = { preset: "small", deep: false, quality: 80, lines: null, tags: ["a"] };
  expect(fitting(OPTIONS, kept)).toEqual(kept);
  const past = { preset: "tiny", deep: "no", quality: "many", lines: [1], tags: 3, gone: 1 };
  expect(fitting(OPTIONS, past)).toEqual({});
  for (const nothing of [undefined, null, "text"]) expect(fitting(OPTIONS, nothing)).toEqual({});
});

it("prefers the targets of the selected queue", () => {
  const targets = targetsOf([
    task("here", { file: FILE }, ["file"], "video"), task("there", { file: FILE }, ["file"], "audio"),
  ]);
  expect(nearest(targets, "audio").map(({ task }) => task)).toEqual(["there"]);
  expect(nearest(targets, "other")).toEqual(targets);
  expect(nearest(targets, undefined)).toEqual(targets);
});

it("sorts the files of a folder by name, without hidden ones", () => {
  const file = (path: string) => {
    const made = new File([""], path.slice(path.lastIndexOf("/") + 1));
    Object.defineProperty(made, "webkitRelativePath", { value: path });
    return made;
  };
  const found = chosen(["a/10.jpg", "a/9.jpg", "a/.DS_Store", "a/.git/x", "a/b/1.jpg"].map(file));
  expect(found.files.map((one) => one.webkitRelativePath)).toEqual(["a/9.jpg", "a/10.jpg", "a/b/1.jpg"]);
  expect(found.isCut).toBe(false);
});

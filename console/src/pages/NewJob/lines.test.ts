import { expect, it } from "vitest";
import { fieldsOf } from "../../forms/schema";
import { countLines, fromLines } from "./lines";

const [url, page] = fieldsOf({
  required: ["url", "page"],
  properties: { url: { type: "string" }, page: { type: "integer" } },
});

it("makes a job of every line that is not empty", () => {
  const text = "a\n\n  b \n";
  expect(countLines(text)).toBe(2);
  expect(fromLines(text, url!, { page: 1 }).params).toEqual([
    { page: 1, url: "a" },
    { page: 1, url: "b" },
  ]);
});

it("reads JSON objects and adds the common parameters", () => {
  const { params } = fromLines('{"url": "a"}\n{"url": "b", "page": 2}', null, { page: 1 });
  expect(params).toEqual([
    { page: 1, url: "a" },
    { page: 2, url: "b" },
  ]);
});

it("reads a JSON object among plain values", () => {
  const { params, problems } = fromLines('a\n {"url": "b", "page": 2}\n[c]\n{d', url!, { page: 1 });
  expect(params).toEqual([
    { page: 1, url: "a" },
    { page: 2, url: "b" },
    { page: 1, url: "[c]" },
  ]);
  expect(problems).toMatchObject([{ line: 4, word: "new.bad_json" }]);
});

it("names each line that cannot be read", () => {
  expect(fromLines("1\nx", page!, {}).problems).toMatchObject([{ line: 2, word: "new.bad_number" }]);
  expect(fromLines('{"a": 1}\n[1]\n{', null, {}).problems).toMatchObject([
    { line: 2, word: "new.bad_json_object" },
    { line: 3, word: "new.bad_json" },
  ]);
});

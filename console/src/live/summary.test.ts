import { afterEach, expect, it } from "vitest";
import { brief } from "../testing/jobs";
import { HIDDEN, cutInside, summaryOf, summaryOfCall } from "./summary";
import { storeTasks, defaultsOf } from "./defaults";

afterEach(() => storeTasks([]));

it("writes the values without empty ones", () => {
  const values = { page: 0, deep: true, tags: ["a", "b"], filter: {}, note: "", on: false, at: null };
  expect(summaryOf(values)).toBe("page: 0 · deep: true · tags: a, b · filter: {…}");
  expect(summaryOf({ none: [], many: Array(40).fill("item"), pairs: [[1]] })).toBe(
    "none: [0] · many: [40] · pairs: [1]",
  );
});

it("leaves out the name of the lane and masked secrets", () => {
  const params = { handle: "nasa", token: HIDDEN, limit: 5 };
  expect(brief({ id: "a", lane: "nasa", params }).summary).toBe("limit: 5");
  expect(brief({ id: "a", params }).summary).toBe("handle: nasa · limit: 5");
});

it("leaves out defaults and writes chosen values", () => {
  const kinds = ["image", "video"];
  storeTasks([
    {
      name: "archive", text: "", queue: "archive",
      parameters: {
        properties: {
          account: { type: "string" },
          kinds: { type: "array", default: kinds },
          replies: { type: "boolean", default: true },
          most: { default: null },
          note: { default: "hello" },
        },
      },
    },
  ]);
  const usual = { kinds: [...kinds], replies: true, most: null, note: "hello" };
  const said = (params: object) =>
    summaryOfCall({ task: "archive", lane: "ann", params: { account: "ann", ...usual, ...params } });
  expect(said({})).toBe("");
  expect(said({ kinds: ["video"], replies: false, most: 0, note: "" })).toBe(
    "kinds: video · replies: false · most: 0 · note: –",
  );
  expect(defaultsOf("unheard of")).toEqual({});
});

it("shows the end of a long value", () => {
  const cut = cutInside("https://videos.example/watch/2026/a-very-long-folder/0042.mp4", 30);
  expect(cut).toBe("https://vi…ong-folder/0042.mp4");
  expect(cut).toHaveLength(30);
  expect(cutInside("short", 30)).toBe("short");
});

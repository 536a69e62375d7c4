import { expect, it } from "vitest";
import { brief } from "../testing/jobs";
import { HIDDEN, cutInside, summaryOf } from "./summary";

it("says what is in the parameters, and nothing that is empty", () => {
  const params = { page: 0, deep: true, tags: ["a", "b"], filter: {}, note: "", on: false, at: null };
  expect(summaryOf(params)).toBe("page: 0 · deep: true · tags: [2] · filter: {…}");
});

it("leaves out what the lane says, and what is hidden", () => {
  const params = { handle: "nasa", token: HIDDEN, limit: 5 };
  expect(brief({ id: "a", lane: "nasa", params }).summary).toBe("limit: 5");
  expect(brief({ id: "a", params }).summary).toBe("handle: nasa · limit: 5");
});

it("shows the end of a long value", () => {
  const cut = cutInside("https://videos.example/watch/2026/a-very-long-folder/0042.mp4", 30);
  expect(cut).toBe("https://vi…ong-folder/0042.mp4");
  expect(cut).toHaveLength(30);
  expect(cutInside("short", 30)).toBe("short");
});

import { expect, it } from "vitest";
import { fill } from "../words/fill";
import { en, zh } from "../words/states";
import { toldReason, type Translate } from "./told";

const inEnglish: Translate = (word, facts = {}) => fill(en[word as keyof typeof en], facts);
const inChinese: Translate = (word, facts = {}) => fill(zh[word as keyof typeof en], facts);

const SHORTAGE = {
  code: "disk_space",
  message: "needs 3.2 GB free in /videos, 1.1 GB is free: 2.1 GB too little",
  facts: { folder: "/videos", needed_bytes: 3_200_000_000, free_bytes: 1_100_000_000 },
};

it("tells a shortage of disk space and a taken output in the language of the page", () => {
  expect(toldReason(SHORTAGE, inEnglish)).toBe(
    "3.2 GB needed in /videos, 1.1 GB free: 2.1 GB too little",
  );
  expect(toldReason(SHORTAGE, inChinese)).toBe("/videos 需要 3.2 GB，可用 1.1 GB：还差 2.1 GB");
  const taken = { code: "output_exists", message: "/a exists already", facts: { path: "/a" } };
  expect(toldReason(taken, inChinese)).toBe("已存在：/a");
  const busy = { code: "output_busy", message: "", facts: { path: "/a", job: "j1" } };
  expect(toldReason(busy, inChinese)).toBe("/a 正由任务 j1 写入");
});

it("shows any other reason as the server sends it", () => {
  const reason = { code: "precondition", message: "the licence is in use" };
  expect(toldReason(reason, inChinese)).toBe("the licence is in use");
  expect(toldReason({ code: "disk_space", message: "full" }, inChinese)).toBe("full");
});

import { expect, it } from "vitest";
import { roughSpan, span } from "../time/format";
import { fill } from "./fill";
import { sizeText } from "./size";

it("words are filled in, and take the number that fits", () => {
  expect(fill("{n} job|{n} jobs", { n: 1 })).toBe("1 job");
  expect(fill("{n} job|{n} jobs", { n: "12" })).toBe("12 jobs");
  expect(fill("{n} 个任务", { n: 1 })).toBe("1 个任务");
  expect(fill("Go to {page}", {})).toBe("Go to {page}");
});

it("a text has the same placeholders in both languages", () => {
  const pages = import.meta.glob<{ en?: Record<string, string>; zh?: Record<string, string> }>(
    ["./*.ts", "!./*.test.ts", "!./*.svelte.ts"], { eager: true },
  );
  const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();
  const texts = Object.values(pages).flatMap(({ en = {}, zh = {} }) =>
    Object.keys(en).map((word) => [word, en[word] ?? "", zh[word] ?? ""] as const),
  );
  expect(texts.length).toBeGreaterThan(100);
  const different = texts.filter(
    ([, en, zh]) => placeholders(en).join() !== placeholders(zh).join(),
  );
  expect(different).toEqual([]);
});

it("spans are short", () => {
  expect([800, 59_400, 61_000, 3_661_000, 90_061_000].map(span)).toEqual([
    "1s", "59s", "1m 01s", "1h 01m", "1d 1h",
  ]);
  expect([800, 90_000, 7_200_000].map(roughSpan)).toEqual(["1s", "2m", "2h"]);
});

it("sizes have two or three digits", () => {
  expect([0, 999, 999_960, 1_500_000, -2_340_000_000, 150e12].map(sizeText)).toEqual([
    "0 B", "999 B", "1.0 MB", "1.5 MB", "-2.3 GB", "150 TB",
  ]);
});

// Describes the rule of a schedule.

import type { Schedule } from "../../api/types";
import { fullTime } from "../../time/format";
import { t, words } from "../../words/index.svelte";
import { UNITS, unitOf } from "./changes";
import { read, type Rhythm } from "./cron";

type Rule = Pick<Schedule, "cron" | "every_seconds" | "at">;

/** Describe a rule; a cron expression that is not simple is returned as written. */
export function ruleText({ cron, every_seconds, at }: Rule): string {
  if (every_seconds !== null) return everyText(every_seconds);
  if (at !== null) return t("schedules.once", { time: fullTime(at, words.locale) });
  const rhythm = read(cron ?? "");
  return rhythm ? rhythmText(rhythm) : (cron ?? "");
}

/** Whether the description says less than the expression. */
export const isPlain = ({ cron }: Rule): boolean => cron !== null && read(cron) !== null;

function rhythmText(rhythm: Rhythm): string {
  if (rhythm.kind === "minutes") return t("schedules.every.minutes", { n: rhythm.n });
  if (rhythm.kind === "hourly") return t("schedules.hourly", { minute: two(rhythm.n) });
  if (rhythm.kind === "hours")
    return t("schedules.hours", { n: rhythm.n, minute: two(rhythm.minute) });
  const times = rhythm.times.join(", ");
  switch (rhythm.kind) {
    case "weekly":
      return t("schedules.weekly", { days: list(rhythm.days.map(weekday)), times });
    case "monthly":
      return t("schedules.monthly", { day: rhythm.day, times });
    case "yearly":
      return t("schedules.yearly", { date: dateText(rhythm.month, rhythm.day), times });
    default:
      return t(`schedules.${rhythm.kind}`, { times });
  }
}

function everyText(seconds: number): string {
  const unit = unitOf(seconds);
  return t(`schedules.every.${unit}`, { n: seconds / UNITS[unit] });
}

const two = (number: number): string => String(number).padStart(2, "0");
const list = (items: readonly string[]): string =>
  new Intl.ListFormat(words.locale, { type: "conjunction", style: "short" }).format(items);

// The first of January 2023 was a Sunday.
const weekday = (day: number): string =>
  new Date(2023, 0, 1 + day).toLocaleDateString(words.locale, { weekday: "long" });
const dateText = (month: number, day: number): string =>
  new Date(2024, month - 1, day).toLocaleDateString(words.locale, { month: "long", day: "numeric" });

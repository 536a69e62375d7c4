// Describes simple cron expressions in words. Other expressions are shown as written, because a
// wrong description is worse than none.

export type Rhythm =
  | { readonly kind: "minutes"; readonly n: number }
  | { readonly kind: "hourly"; readonly n: number }
  | { readonly kind: "hours"; readonly n: number; readonly minute: number }
  | { readonly kind: "daily" | "weekdays" | "weekends"; readonly times: readonly string[] }
  | { readonly kind: "weekly"; readonly days: readonly number[]; readonly times: readonly string[] }
  | { readonly kind: "monthly"; readonly day: number; readonly times: readonly string[] }
  | {
      readonly kind: "yearly";
      readonly day: number;
      readonly month: number;
      readonly times: readonly string[];
    };

const ALIASES: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MOST_TIMES = 4;

/** Parse an expression; null if it has no short description. */
export function read(expression: string): Rhythm | null {
  const text = expression.trim().toLowerCase();
  const fields = (ALIASES[text] ?? text).split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  if (!hour.startsWith("*")) return onDays(timesOf(minute, hour), day, month, weekday);
  if (day !== "*" || month !== "*" || weekday !== "*") return null;
  return hour === "*" ? rhythmOfMinutes(minute) : rhythmOfHours(minute, hour);
}

function rhythmOfMinutes(minute: string): Rhythm | null {
  if (minute === "*") return { kind: "minutes", n: 1 };
  const step = stepOf(minute, 60);
  if (step !== null) return { kind: "minutes", n: step };
  const at = numberIn(minute, 0, 59);
  return at === null ? null : { kind: "hourly", n: at };
}

function rhythmOfHours(minute: string, hour: string): Rhythm | null {
  const step = stepOf(hour, 24);
  const at = numberIn(minute, 0, 59);
  return step === null || at === null ? null : { kind: "hours", n: step, minute: at };
}

/** "*\/15"; a step that does not divide the whole is uneven, so it is not simple. */
function stepOf(field: string, whole: number): number | null {
  const step = /^\*\/(\d+)$/.exec(field);
  const number = step ? Number(step[1]) : 0;
  return number > 0 && number < whole && whole % number === 0 ? number : null;
}

function onDays(
  times: readonly string[] | null,
  day: string,
  month: string,
  weekday: string,
): Rhythm | null {
  if (times === null) return null;
  if (day === "*" && month === "*") {
    if (weekday === "*") return { kind: "daily", times };
    const days = daysOf(weekday);
    if (days === null) return null;
    const key = days.join();
    if (key === "1,2,3,4,5") return { kind: "weekdays", times };
    if (key === "0,6") return { kind: "weekends", times };
    return key === "0,1,2,3,4,5,6" ? { kind: "daily", times } : { kind: "weekly", days, times };
  }
  const date = numberIn(day, 1, 31);
  if (date === null || weekday !== "*") return null;
  if (month === "*") return { kind: "monthly", day: date, times };
  const which = numberIn(month, 1, 12);
  return which === null ? null : { kind: "yearly", day: date, month: which, times };
}

function timesOf(minute: string, hour: string): readonly string[] | null {
  const at = numberIn(minute, 0, 59);
  if (at === null) return null;
  const hours = hour.split(",").map((one) => numberIn(one, 0, 23));
  if (hours.length > MOST_TIMES || hours.includes(null)) return null;
  const two = (number: number | null) => String(number).padStart(2, "0");
  return [...new Set(hours)].sort((a, b) => a! - b!).map((one) => `${two(one)}:${two(at)}`);
}

function daysOf(field: string): readonly number[] | null {
  const days = new Set<number>();
  for (const part of field.split(",")) {
    const [from, to] = part.split("-").map(dayOf);
    if (from === undefined || from === null || to === null || part.split("-").length > 2) return null;
    const last = to ?? from;
    if (last < from) return null;
    for (let day = from; day <= last; day += 1) days.add(day % 7);
  }
  return [...days].sort((a, b) => a - b);
}

function dayOf(text: string): number | null {
  const named = DAYS.indexOf(text);
  return named >= 0 ? named : numberIn(text, 0, 7);
}

function numberIn(text: string, least: number, most: number): number | null {
  const number = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : null;
}

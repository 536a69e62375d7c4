// Formats times and durations in few characters, in the units of the selected language.

interface Units {
  readonly second: string;
  readonly minute: string;
  readonly hour: string;
  readonly day: string;
}

const UNITS: Record<string, Units> = {
  en: { second: "s", minute: "m", hour: "h", day: "d" },
  zh: { second: "秒", minute: "分", hour: "小时", day: "天" },
};

let language = (): string => "en";

/** Set the language of durations as a function, which is called each time. */
export function setDurationLanguage(selected: () => string): void {
  language = selected;
}

const units = (): Units => UNITS[language()] ?? UNITS.en!;

/** Format a duration: 8s, 3m 20s, 2h 05m, 4d 3h. */
export function span(milliseconds: number): string {
  const { second, minute, hour, day } = units();
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds}${second}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}${minute} ${two(seconds % 60)}${second}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}${hour} ${two(minutes % 60)}${minute}`;
  return `${Math.floor(hours / 24)}${day} ${hours % 24}${hour}`;
}

/** Format an estimated duration with one unit: 8s, 3m, 2h, 4d. */
export function roughSpan(milliseconds: number): string {
  const { second, minute, hour, day } = units();
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds}${second}`;
  if (seconds < 3600) return `${Math.round(seconds / 60)}${minute}`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)}${hour}`;
  return `${Math.round(seconds / 86_400)}${day}`;
}

const two = (number: number): string => String(number).padStart(2, "0");

/** Format an instant as a time of day, with its date if it is not today. */
export function clockTime(instant: number, now: number, language: string): string {
  const date = new Date(instant);
  const sameDay = date.toDateString() === new Date(now).toDateString();
  return formatter(language, sameDay ? "time" : "day").format(date);
}

/** Format an instant in full. */
export function fullTime(instant: string | number, language: string): string {
  return formatter(language, "full").format(new Date(instant));
}

/** Format an instant as a time of day with seconds. */
export function exactTime(instant: string | number, language: string): string {
  return formatter(language, "exact").format(new Date(instant));
}

/** Return the canonical name of a time zone that has several, such as UTC. */
export function canonical(zone: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return zone; // the server may know zones that this browser does not
  }
}

const FORMATS = {
  time: { hour: "2-digit", minute: "2-digit", hour12: false },
  day: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false },
  full: { dateStyle: "medium", timeStyle: "medium", hour12: false },
  exact: { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(language: string, kind: keyof typeof FORMATS): Intl.DateTimeFormat {
  const key = `${language} ${kind}`;
  let found = formatters.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat(language, FORMATS[kind]);
    formatters.set(key, found);
  }
  return found;
}

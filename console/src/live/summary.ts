// Parameters in one line, for lists: only the values that tell one job from another.

import { defaultsOf } from "./defaults";

const LENGTH = 160;
const VALUE_LENGTH = 48;

/** The server's mask for a secret parameter. */
export const HIDDEN = "**********";

type Values = Readonly<Record<string, unknown>>;

/** The call of a job, a lane or a schedule. */
export interface Call {
  readonly task: string;
  readonly params: Values;
  readonly lane: string | null;
}

/** Write values in one line, without empty values. */
export function summaryOf(values: Values): string {
  return lineOf(Object.entries(values).filter(([, value]) => !isEmpty(value)));
}

/**
 * Write the chosen parameters of a call in one line: without defaults, without the name of the lane
 * (a list shows it beside), and without masked secrets.
 */
export function summaryOfCall({ task, params, lane }: Call): string {
  const defaults = defaultsOf(task);
  const isChosen = ([name, value]: [string, unknown]) => {
    if (value === HIDDEN || value === lane) return false;
    // If a parameter has a default, an empty value is a choice as well.
    return name in defaults ? !isSame(value, defaults[name]) : !isEmpty(value);
  };
  return lineOf(Object.entries(params).filter(isChosen));
}

/** Write values in one line, each with its name. */
export function lineOf(entries: readonly (readonly [string, unknown])[]): string {
  let line = "";
  for (const [name, value] of entries) {
    line += `${line && " · "}${name}: ${valueOf(value)}`;
    if (line.length > LENGTH) break;
  }
  return cut(line, LENGTH);
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === "" || value === undefined || value === false;

const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  (typeof one === "object" && typeof other === "object" && JSON.stringify(one) === JSON.stringify(other));

function valueOf(value: unknown): string {
  if (value === null || value === "" || value === undefined) return "–";
  if (typeof value === "string") return cutInside(value, VALUE_LENGTH);
  if (Array.isArray(value)) return listOf(value);
  if (typeof value === "object") return "{…}";
  return String(value);
}

/** Write the items of a list if they fit, else their number. */
function listOf(items: readonly unknown[]): string {
  const isNamed = items.length > 0 && items.length <= VALUE_LENGTH && items.every((one) => typeof one !== "object");
  const names = isNamed ? items.join(", ") : "";
  return isNamed && names.length <= VALUE_LENGTH ? names : `[${items.length}]`;
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** Cut in the middle: addresses and paths often begin alike and differ at the end. */
export function cutInside(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.floor(length / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - head - 1))}`;
}

// Parameters in one line, for lists: what tells one job from another, and nothing else.

const LENGTH = 160;
const VALUE_LENGTH = 48;

/** As the server shows what a task marked as secret. */
export const HIDDEN = "**********";

/** Write parameters in one line: the values that say most, and nothing that is empty. */
export function summaryOf(params: Readonly<Record<string, unknown>>): string {
  let line = "";
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === "" || value === undefined || value === false) continue;
    line += `${line && " · "}${name}: ${valueOf(value)}`;
    if (line.length > LENGTH) break;
  }
  return cut(line, LENGTH);
}

/** Leave out what says nothing beside the name of a lane: that name once more, and stars. */
export function telling(
  params: Readonly<Record<string, unknown>>,
  lane: string | null,
): Record<string, unknown> {
  const says = ([, value]: [string, unknown]) => value !== HIDDEN && value !== lane;
  return Object.fromEntries(Object.entries(params).filter(says));
}

function valueOf(value: unknown): string {
  if (typeof value === "string") return cutInside(value, VALUE_LENGTH);
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === "object") return "{…}";
  return String(value);
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** Cut in the middle: addresses and paths begin alike, their end tells them apart. */
export function cutInside(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.floor(length / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - head - 1))}`;
}

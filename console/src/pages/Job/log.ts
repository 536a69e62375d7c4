// The lines of a log: the loaded lines and later events. Only the newest are kept.

import type { LogLine } from "../../api/types";

export const MOST_LINES = 2_000;

export interface Line extends LogLine {
  /** Counts up, so that a line keeps its identity when older lines are dropped. */
  readonly number: number;
}

export interface Lines {
  readonly items: readonly Line[];
  readonly next: number;
  /** The loaded lines: an event for the last of them may still arrive. */
  readonly read: ReadonlySet<string>;
}

export const NO_LINES: Lines = { items: [], next: 0, read: new Set() };

/** Append lines from events that were not loaded before. */
export function append(lines: Lines, heard: readonly LogLine[]): Lines {
  const added = heard.filter((line) => !lines.read.has(identity(line)));
  return added.length === 0 ? lines : { ...lines, ...numbered(lines, added) };
}

/** Begin with the loaded lines and append those received meanwhile. */
export function begin(read: readonly LogLine[], heard: readonly LogLine[]): Lines {
  const lines = { ...numbered(NO_LINES, read), read: new Set(read.slice(-200).map(identity)) };
  return append(lines, heard);
}

function numbered(lines: Lines, added: readonly LogLine[]): Omit<Lines, "read"> {
  let next = lines.next;
  const items = [...lines.items, ...added.map((line) => ({ ...line, number: next++ }))];
  return { items: items.slice(-MOST_LINES), next };
}

// Responses write the same instant with different numbers of digits.
const identity = (line: LogLine): string => `${Date.parse(line.at)} ${line.message}`;

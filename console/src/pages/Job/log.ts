// The lines of a log: what was read, and what events add to it. Only the newest are kept.

import type { LogLine } from "../../api/types";

export const MOST_LINES = 2_000;

export interface Line extends LogLine {
  /** Counts up, so that a line keeps its identity when older ones go. */
  readonly number: number;
}

export interface Lines {
  readonly items: readonly Line[];
  readonly next: number;
  /** What was read: an event may still come for the last of them. */
  readonly read: ReadonlySet<string>;
}

export const NO_LINES: Lines = { items: [], next: 0, read: new Set() };

/** Add what was heard and was not read before. */
export function append(lines: Lines, heard: readonly LogLine[]): Lines {
  const added = heard.filter((line) => !lines.read.has(identity(line)));
  return added.length === 0 ? lines : { ...lines, ...numbered(lines, added) };
}

/** Begin with what was read, and add what was heard meanwhile. */
export function begin(read: readonly LogLine[], heard: readonly LogLine[]): Lines {
  const lines = { ...numbered(NO_LINES, read), read: new Set(read.slice(-200).map(identity)) };
  return append(lines, heard);
}

function numbered(lines: Lines, added: readonly LogLine[]): Omit<Lines, "read"> {
  let next = lines.next;
  const items = [...lines.items, ...added.map((line) => ({ ...line, number: next++ }))];
  return { items: items.slice(-MOST_LINES), next };
}

// The same instant is written with more or fewer digits by different answers.
const identity = (line: LogLine): string => `${Date.parse(line.at)} ${line.message}`;

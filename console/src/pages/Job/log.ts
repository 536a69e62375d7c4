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
}

export const NO_LINES: Lines = { items: [], next: 0 };

export function append(lines: Lines, added: readonly LogLine[]): Lines {
  if (added.length === 0) return lines;
  let next = lines.next;
  const items = [...lines.items, ...added.map((line) => ({ ...line, number: next++ }))];
  return { items: items.slice(-MOST_LINES), next };
}

/** Begin with what was read, and add what was heard meanwhile and is not among it. */
export function begin(read: readonly LogLine[], heard: readonly LogLine[]): Lines {
  const known = new Set(read.slice(-200).map(identity));
  return append(append(NO_LINES, read), heard.filter((line) => !known.has(identity(line))));
}

// The same instant is written with more or fewer digits by different answers.
const identity = (line: LogLine): string => `${Date.parse(line.at)} ${line.message}`;

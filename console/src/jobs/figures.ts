// The statistics of a job in one line: numbers of its result if it completed, else its reports.

import type { Brief } from "../live/brief";
import { isFinal } from "../live/order";
import { span } from "../time/format";
import { sizeText } from "../words/size";

const MOST = 5;

type Figures = Pick<Brief, "state" | "statistics" | "made">;
type Write = (value: number) => string;

export interface Figure {
  readonly name: string;
  readonly text: string;
}

/** Return the figures of a job, percentages first; zeros are left out beside other figures. */
export function figuresOf(job: Figures, write: Write): Figure[] {
  const isOver = isFinal(job.state) && Object.keys(job.made).length > 0;
  const all = numbersIn(isOver ? job.made : job.statistics);
  const shares = all.filter(([name]) => isShare(name));
  const first = [...shares, ...all.filter(([name]) => !isShare(name))].slice(0, MOST);
  const some = first.filter(([, value]) => value !== 0);
  const text = some.length > 0 ? some : first.slice(0, 1);
  return text.map(([name, value]) => ({ name, text: figureText(name, value, write) }));
}

export const figuresText = (job: Figures, write: Write): string =>
  figuresOf(job, write).map(({ text }) => text).join(" · ");

/** Format a figure by the unit in its name: "saved 71%", "4.2 MB", "skipped 3". */
export function figureText(name: string, value: number, write: Write): string {
  const words = (without: string) => name.replace(without, "").replaceAll("_", " ");
  const text = (label: string, text: string) => (label ? `${label} ${text}` : text);
  if (isShare(name)) return text(words("_percent"), `${write(Math.round(value * 10) / 10)}%`);
  if (areBytes(name)) return text(name === "bytes" ? "" : words("_bytes"), sizeText(value));
  if (name.endsWith("_seconds")) return text(words("_seconds"), span(value * 1000));
  return text(words(""), write(value));
}

/** Return the finite numbers among values. */
export function numbersIn(values: Readonly<Record<string, unknown>>): [string, number][] {
  const isNumber = (one: [string, unknown]): one is [string, number] => Number.isFinite(one[1]);
  return Object.entries(values).filter(isNumber);
}

export const areBytes = (name: string): boolean => /(^|_)bytes(_|$)/.test(name);
const isShare = (name: string): boolean => name.endsWith("_percent");

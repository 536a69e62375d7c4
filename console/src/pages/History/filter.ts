// The filters of the history as the address and as the request hold them.

import type { JobFilter } from "../../api/calls";
import type { JobState } from "../../api/types";
import { FINAL, WAITING } from "../../live/order";

export const RANGES = { "1h": 1, "24h": 24, "7d": 7 * 24, "30d": 30 * 24 } as const;
export type Range = keyof typeof RANGES;

const HOUR_MS = 3_600_000;
const STATES: readonly string[] = [...WAITING, "running", ...FINAL];

export interface Choice {
  readonly states: readonly JobState[];
  readonly live: boolean;
  readonly queue: string | undefined;
  readonly task: string | undefined;
  readonly lane: string | undefined;
  readonly q: string | undefined;
  readonly range: Range | "own" | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
}

/** Read the filters from the address; invalid values are ignored. */
export function choiceOf(query: URLSearchParams): Choice {
  const text = (name: string) => query.get(name) || undefined;
  const instant = (name: string) => {
    const given = text(name);
    return given !== undefined && !Number.isNaN(Date.parse(given)) ? given : undefined;
  };
  const range = text("range");
  return {
    states: query.getAll("state").filter((one): one is JobState => STATES.includes(one)),
    live: query.get("live") !== null,
    queue: text("queue"),
    task: text("task"),
    lane: text("lane"),
    q: text("q")?.trim() || undefined,
    range: range === "own" || (range !== undefined && range in RANGES) ? (range as Range) : undefined,
    since: instant("since"),
    until: instant("until"),
  };
}

/** Return the requested states: the final ones, and live ones on request. */
export function statesOf({ states, live }: Choice): readonly JobState[] {
  const ended = states.length > 0 ? states : FINAL;
  return live ? [...new Set<JobState>([...WAITING, "running", ...ended])] : ended;
}

export function filterOf(choice: Choice, now: number): JobFilter {
  const { queue, task, lane, q, range } = choice;
  const period =
    range === "own"
      ? { since: choice.since, until: choice.until }
      : range === undefined
        ? {}
        : { since: new Date(now - RANGES[range] * HOUR_MS).toISOString() };
  return { state: statesOf(choice), queue, task, lane, q, ...period };
}

/** Return whether a filter other than the queue is set. */
export function isNarrowed({ states, live, task, lane, q, range }: Choice): boolean {
  return states.length > 0 || live || [task, lane, q, range].some((one) => one !== undefined);
}

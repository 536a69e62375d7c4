// Turns the form of a schedule into a request: a new schedule in full, an existing one by its
// changed fields. Unchanged fields are not sent, so masked secrets keep their values.

import type { Priority, Schedule } from "../../api/types";
import type { LaneCall } from "../../api/lanes";
import { HIDDEN } from "../../live/summary";
import type { NewSchedule, ScheduleChanges } from "../../api/schedules";

type Params = Readonly<Record<string, unknown>>;

export const UNITS = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const;
export type Unit = keyof typeof UNITS;

export interface Entered {
  kind: "cron" | "every" | "at";
  cron: string;
  amount: number;
  unit: Unit;
  /** In the format of a datetime-local field. */
  at: string;
  timezone: string;
  grace: number;
  coalesce: boolean;
  overlap: Schedule["overlap"];
  /** Empty: the task decides. */
  queue: string;
  lane: string;
  priority: Priority;
}

/** The initial values of the form. */
export function entered(
  was: Schedule | null,
  local: (instant: string) => string,
  zone: string,
): Entered {
  const seconds = was?.every_seconds ?? 600;
  const unit = unitOf(seconds);
  return {
    kind: was?.every_seconds != null ? "every" : was?.at != null ? "at" : "cron",
    cron: was?.cron ?? "0 3 * * *",
    amount: seconds / UNITS[unit],
    unit,
    at: was?.at ? local(was.at) : "",
    timezone: was?.timezone ?? zone,
    grace: was?.grace_seconds ?? 300,
    coalesce: was?.coalesce ?? true,
    overlap: was?.overlap ?? "skip",
    queue: was?.queue ?? "",
    lane: was && !isFilledIn(was) ? (was.lane ?? "") : "",
    priority: was?.priority ?? "normal",
  };
}

/** Return the largest unit that divides an interval. */
export function unitOf(seconds: number): Unit {
  const units: readonly Unit[] = ["days", "hours", "minutes"];
  return units.find((unit) => seconds >= UNITS[unit] && seconds % UNITS[unit] === 0) ?? "seconds";
}

/** Return whether a lane equals a parameter, so it was probably derived from it. */
function isFilledIn({ lane, params }: Schedule): boolean {
  return lane !== null && Object.values(params).some((value) => String(value) === lane);
}

function trigger(given: Entered): Pick<ScheduleChanges, "cron" | "every_seconds" | "at"> {
  if (given.kind === "cron") return { cron: given.cron.trim() };
  if (given.kind === "every") return { every_seconds: given.amount * UNITS[given.unit] };
  return { at: new Date(given.at).toISOString() };
}

export function newSchedule(name: string, given: Entered, call: LaneCall): NewSchedule {
  return {
    name,
    ...call,
    ...trigger(given),
    timezone: given.timezone,
    grace_seconds: given.grace,
    coalesce: given.coalesce,
    overlap: given.overlap,
    ...options(given),
  } as NewSchedule;
}

function options({ queue, lane, priority }: Entered) {
  return { ...(queue ? { queue } : {}), ...(lane ? { lane } : {}), priority };
}

export function changesTo(
  was: Schedule,
  before: Entered,
  given: Entered,
  call: LaneCall,
): ScheduleChanges {
  const differs = (...names: (keyof Entered)[]) => names.some((name) => given[name] !== before[name]);
  const changes: ScheduleChanges = {};
  if (differs("kind", "cron", "amount", "unit", "at")) Object.assign(changes, trigger(given));
  if (differs("timezone")) changes.timezone = given.timezone;
  if (differs("grace")) changes.grace_seconds = given.grace;
  if (differs("coalesce")) changes.coalesce = given.coalesce;
  if (differs("overlap")) changes.overlap = given.overlap;
  const other = call.task !== was.task || !isSame(was.params, call.params);
  // The server chooses queue and lane again when one of these changes, so all are sent.
  if (other || differs("queue", "lane", "priority")) Object.assign(changes, options(given));
  if (other) Object.assign(changes, call);
  return changes;
}

function isSame(was: Params, now: Params): boolean {
  return [...new Set([...Object.keys(was), ...Object.keys(now)])].every((name) => {
    if (was[name] === HIDDEN && now[name] === undefined) return true;
    return JSON.stringify(was[name] ?? null) === JSON.stringify(now[name] ?? null);
  });
}

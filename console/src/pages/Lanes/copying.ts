// Adapts the parameters of a lane that are copied to another lane.

import { HIDDEN } from "../../live/summary";
import type { Address, LaneCall } from "../../api/lanes";

/**
 * Return a call for another lane: a parameter that held the name of the old lane gets the name of
 * the new one. Secrets are masked here, so they are left out.
 */
export function carry(call: LaneCall, from: Address, to: Address): LaneCall {
  const params: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(call.params)) {
    if (value === HIDDEN) continue;
    params[name] = value === from.lane ? to.lane : value;
  }
  return { task: call.task, params };
}

/** Return the names of the parameters that have a value. */
export function namesOf(params: Readonly<Record<string, unknown>>, value: unknown): string[] {
  return Object.keys(params).filter((name) => params[name] === value);
}

/** Return the names of the parameters whose values are masked. */
export function secretsIn(params: Readonly<Record<string, unknown>>): string[] {
  return namesOf(params, HIDDEN);
}

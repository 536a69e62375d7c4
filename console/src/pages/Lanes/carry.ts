// What becomes of a lane's parameters when they are copied to another lane.

import { HIDDEN } from "../../live/summary";
import type { Address, LaneCall } from "../../api/lanes";

/**
 * Return a call as another lane would make it: a parameter that named the lane names the other one.
 * What is secret is not known here, so it is left out.
 */
export function carry(call: LaneCall, from: Address, to: Address): LaneCall {
  const params: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(call.params)) {
    if (value === HIDDEN) continue;
    params[name] = value === from.lane ? to.lane : value;
  }
  return { task: call.task, params };
}

/** Name the parameters that have a value. */
export function namesOf(params: Readonly<Record<string, unknown>>, value: unknown): string[] {
  return Object.keys(params).filter((name) => params[name] === value);
}

/** Name the parameters whose values are not shown. */
export function secretsIn(params: Readonly<Record<string, unknown>>): string[] {
  return namesOf(params, HIDDEN);
}

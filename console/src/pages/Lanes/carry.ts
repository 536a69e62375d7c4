// What becomes of a lane's parameters when they are copied to another lane.

import type { Address, LaneCall } from "./calls";

/** As the server shows what a task marked as secret. */
export const HIDDEN = "**********";

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

/** Leave out what says nothing to whoever reads the parameters of a lane: its name, and stars. */
export function telling(
  params: Readonly<Record<string, unknown>>,
  lane: string | null,
): Record<string, unknown> {
  const says = ([, value]: [string, unknown]) => value !== HIDDEN && value !== lane;
  return Object.fromEntries(Object.entries(params).filter(says));
}

/** Name the parameters that have a value. */
export function namesOf(params: Readonly<Record<string, unknown>>, value: unknown): string[] {
  return Object.keys(params).filter((name) => params[name] === value);
}

/** Name the parameters whose values are not shown. */
export function secretsIn(params: Readonly<Record<string, unknown>>): string[] {
  return namesOf(params, HIDDEN);
}

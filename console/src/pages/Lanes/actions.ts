// Actions on one or several lanes. An action is pending under the lane's name until the server
// responds.

import { act } from "../../shell/acts.svelte";
import { jobHref } from "../../shell/router.svelte";
import { toasts } from "../../shell/toasts.svelte";
import { t } from "../../words/index.svelte";
import { type Address, continueLane, forgetLane, saveLane, startLane } from "../../api/lanes";
import { carry, secretsIn } from "./copying";
import { clipboard } from "./clipboard.svelte";
import { keyOf } from "./state";

/** The name under which an action on a lane is pending. */
export const nameOf = (lane: Address): string => `lane:${keyOf(lane)}`;

const AT_ONCE = 4;

export const start = (lanes: readonly Address[]) => run(lanes, startLane, "started");
export const goOn = (lanes: readonly Address[]) => run(lanes, continueLane, "continued");

async function run(
  lanes: readonly Address[],
  call: typeof startLane,
  done: "started" | "continued",
): Promise<void> {
  const jobs = await forEach(lanes, call);
  const [first] = jobs;
  if (!first) return;
  if (lanes.length > 1) toasts.done(t(`lanes.done.${done}_many`, { n: jobs.length }));
  else
    toasts.done(t(`lanes.done.${done}`, { lane: lanes[0]?.lane ?? "" }), {
      href: jobHref(first.id),
      text: t("common.show_job"),
    });
}

/**
 * Paste the copied parameters into lanes; a parameter that held the name of its lane gets theirs.
 */
export async function paste(lanes: readonly Address[]): Promise<void> {
  const { held } = clipboard;
  if (!held) return;
  const done = await forEach(lanes, (lane) => saveLane(lane, carry(held.call, held.from, lane)));
  if (done.length === 0) return;
  const secrets = secretsIn(held.call.params);
  const left = secrets.length ? ` ${t("lanes.secrets_left", { names: secrets.join(", ") })}` : "";
  toasts.done(t("lanes.done.pasted", { n: done.length }) + left);
}

export async function forget(lane: Address): Promise<void> {
  const done = await act(nameOf(lane), () => forgetLane(lane));
  if (done) toasts.done(t("lanes.done.forgotten", { lane: lane.lane }));
}

/** Run an action on several lanes, a few at a time, and return the successful results. */
async function forEach<T>(
  lanes: readonly Address[],
  action: (lane: Address) => Promise<T>,
): Promise<T[]> {
  const rest = [...lanes];
  const done: T[] = [];
  const one = async () => {
    for (let lane = rest.shift(); lane !== undefined; lane = rest.shift()) {
      const present = lane;
      const came = await act(nameOf(present), () => action(present));
      if (came !== undefined) done.push(came);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, lanes.length) }, one));
  return done;
}

// Actions on jobs, used by every page that lists jobs. An action is pending under the job's id
// until the server responds.

import * as calls from "../api/calls";
import type { Place, Priority, Stopping } from "../api/types";
import { act } from "../shell/acts.svelte";
import { jobHref } from "../shell/router.svelte";
import { toasts } from "../shell/toasts.svelte";
import { t, tOr } from "../words/index.svelte";
import { toldReason } from "./told";
import { mostUseful } from "./why";

/** The name under which an action on a job is pending. */
export const nameOf = (id: string): string => `job:${id}`;

const AT_ONCE = 6;

export async function move(id: string, to: Place): Promise<void> {
  await act(nameOf(id), () => calls.move(id, to));
}

/** Move jobs next to one another and keep their order. */
export async function moveMany(ids: readonly string[], to: Place): Promise<void> {
  let place = to;
  for (const id of ids) {
    if (!(await act(nameOf(id), () => calls.move(id, place)))) return;
    place = { after: id };
  }
}

/** Move jobs to the front, each in its queue and priority; they keep their order. */
export async function moveToFront(ids: readonly string[]): Promise<void> {
  for (const id of ids.toReversed())
    if (!(await act(nameOf(id), () => calls.move(id, { to: "head" })))) return;
}

/** Move a job to the front of priority high and report the reason that it still waits for. */
export async function startNow(job: { id: string; priority: Priority }): Promise<void> {
  const moved = await act(nameOf(job.id), async () => {
    if (job.priority !== "high") await calls.prioritize(job.id, "high");
    return calls.move(job.id, { to: "head" });
  });
  const reason = moved && (await calls.explain(job.id).catch(() => undefined));
  // A job that started or ended meanwhile has no position.
  const why = reason?.place ? mostUseful(reason.reasons) : undefined;
  if (!moved || !why || why.code === "next") return;
  const facts = { queue: moved.queue, lane: moved.lane ?? "", reason: toldReason(why, t) };
  toasts.done(tOr(`done.next.${why.code}`, t("done.next.other", facts), facts));
}

export async function prioritize(ids: readonly string[], priority: Priority): Promise<void> {
  await forEach(ids, (id) => calls.prioritize(id, priority));
}

export async function skip(id: string): Promise<void> {
  await act(nameOf(id), () => calls.skip(id));
}

export async function retry(id: string, place: "head" | "tail" = "head"): Promise<void> {
  const job = await act(nameOf(id), () => calls.retry(id, place));
  if (job) toasts.done(t("done.retried"), { href: jobHref(id), text: t("common.show_job") });
}

export async function rerun(id: string): Promise<void> {
  const job = await act(nameOf(id), () => calls.rerun(id));
  if (job) toasts.done(t("done.rerun"), { href: jobHref(job.id), text: t("common.show_job") });
}

export async function cancel(ids: readonly string[], how: Stopping): Promise<void> {
  const done = await forEach(ids, (id) => calls.cancel(id, how));
  if (ids.length > 1 && done > 0) toasts.done(t("done.cancelled_many", { n: done }));
}

/** Run an action on several jobs, a few at a time, and return the number of successes. */
async function forEach(
  ids: readonly string[],
  action: (id: string) => Promise<unknown>,
): Promise<number> {
  const rest = [...ids];
  let done = 0;
  const one = async () => {
    for (let id = rest.shift(); id !== undefined; id = rest.shift()) {
      const name = id;
      if ((await act(nameOf(name), () => action(name))) !== undefined) done += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, one));
  return done;
}

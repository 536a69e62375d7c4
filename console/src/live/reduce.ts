// Computes the next state from a state and events: no clock, no requests, no hidden state.
//
// Events hold changes, not whole jobs. So the result also lists the jobs and records to load: new
// jobs, jobs whose event is incomplete, and records that an event only names.

import type { Brief } from "./brief";
import { firstOf } from "./brief";
import { Draft } from "./draft";
import type { Job, JobState, LiveEvent, Priority, Queue, Stage } from "../api/types";
import { isFinal } from "./order";
import type { Live } from "./live";
import { cut } from "./summary";

export interface ToLoad {
  /** Jobs to load, with the last known state of each. */
  readonly jobs: ReadonlyMap<string, JobState>;
  readonly queues: boolean;
  readonly workers: boolean;
  readonly schedules: boolean;
}

export interface Reduced {
  readonly live: Live;
  readonly toLoad: ToLoad;
  /** An event is missing: the state must be loaded again. No event after the gap was applied. */
  readonly gap: boolean;
}

class LoadList implements ToLoad {
  jobs = new Map<string, JobState>();
  queues = false;
  workers = false;
  schedules = false;
}

/** Apply events in order; events that the state already includes are skipped. */
export function reduce(live: Live, events: readonly LiveEvent[]): Reduced {
  const draft = new Draft(live);
  const toLoad = new LoadList();
  let seq = live.seq;
  for (const event of events) {
    if (event.seq <= seq) continue;
    if (event.prev > seq) return { live: draft.done(seq), toLoad, gap: true };
    seq = event.seq;
    apply(draft, toLoad, event);
  }
  return { live: seq === live.seq ? live : draft.done(seq), toLoad, gap: false };
}

function apply(draft: Draft, toLoad: LoadList, event: LiveEvent): void {
  switch (event.type) {
    case "job_state_changed":
      return changeState(draft, toLoad, event);
    case "job_progress":
      return progress(draft, toLoad, event);
    case "job_moved":
      return moved(draft, toLoad, event);
    case "job_stopping":
      return amend(draft, event, { stopping: true });
    case "job_stuck":
      return amend(draft, event, {
        waiting_for: [{ code: "stuck", message: text(event.data.message) }],
      });
    case "queue_changed":
      if (event.queue !== null)
        draft.setPaused(event.queue, (event.data.paused ?? null) as Queue["paused"]);
      toLoad.queues = true;
      return;
    case "device_changed":
    case "worker_changed":
      toLoad.workers = true;
      return;
    case "schedule_changed":
    case "schedule_fired":
      toLoad.schedules = true;
      return;
  }
}

function changeState(draft: Draft, toLoad: LoadList, event: LiveEvent): void {
  const { job: id, queue, data } = event;
  if (id === null || queue === null) return;
  const state = data.state as JobState;
  draft.count(queue, data.from as JobState, state);
  const known = draft.find(id, queue);
  if (!known) {
    toLoad.jobs.set(id, state);
    return;
  }
  // A job that returns to the queue may have a new position, and a blocked job has a reason with a
  // code; events hold neither.
  if (data.retried || data.recovered || state === "blocked") toLoad.jobs.set(id, state);
  draft.put({ ...known, ...changed(known, state, event) });
}

function changed(known: Brief, state: JobState, event: LiveEvent): Partial<Brief> {
  const { data, at } = event;
  const error = data.error as { code: string; message: string } | undefined;
  const common = {
    state,
    stopping: false,
    due_at: typeof data.due_at === "string" ? data.due_at : null,
    waiting_for:
      typeof data.reason === "string" ? [{ code: state, message: data.reason }] : [],
  };
  if (state === "running") {
    return {
      ...common,
      attempt: Number(data.attempt ?? known.attempt),
      worker: typeof data.worker === "string" ? data.worker : known.worker,
      device: typeof data.device === "string" ? data.device : null,
      started_at: at,
      error: null,
    };
  }
  const failure = error ? { code: error.code, message: cut(error.message, 300) } : null;
  if (isFinal(state)) return { ...common, ended_at: at, position: null, error: failure };
  if (state === "retrying" && failure) return { ...common, error: failure };
  return { ...common, ended_at: null, crashes: Number(data.crashes ?? known.crashes) };
}

function progress(draft: Draft, toLoad: LoadList, event: LiveEvent): void {
  if (event.job === null) return;
  const known = draft.find(event.job, event.queue);
  // A response about a new job that is under way may be older than this event.
  if (!known) toLoad.jobs.set(event.job, "running");
  if (known?.state !== "running") return;
  const { progress, stages, statistics, waiting_for } = event.data as Partial<Job>;
  draft.replaceRunning({
    ...known,
    waiting_for: waiting_for ?? [],
    ...(progress ? { progress } : {}),
    ...(stages ? { stages: stages as readonly Stage[] } : {}),
    ...(statistics ? { statistics: firstOf(statistics) } : {}),
  });
}

function moved(draft: Draft, toLoad: LoadList, event: LiveEvent): void {
  if (event.job === null) return;
  const known = draft.find(event.job, event.queue);
  if (!known) {
    toLoad.jobs.set(event.job, "queued");
    return;
  }
  const position = text(event.data.position) || null;
  draft.put({ ...known, position, priority: event.data.priority as Priority });
}

function amend(draft: Draft, event: LiveEvent, changes: Partial<Brief>): void {
  const known = event.job === null ? undefined : draft.find(event.job, event.queue);
  if (known?.state === "running") draft.replaceRunning({ ...known, ...changes });
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

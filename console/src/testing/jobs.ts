// Jobs and events for tests, with defaults for irrelevant fields.

import type { Job, LiveEvent, Present, Queue } from "../api/types";
import { type Brief, briefOf } from "../live/brief";
import { type Live, liveFrom } from "../live/live";

export function job(given: Partial<Job> & { id: string }): Job {
  return {
    task: "send", queue: "mail", lane: null, kind: "start", state: "queued", priority: "normal",
    position: given.id, params: {}, progress: { percent: null, message: "" }, stages: [],
    statistics: {}, attempt: 0, crashes: 0, stopping: false, waiting_for: [], error: null,
    result: null, meta: {}, artifacts: [], worker: null, device: null, due_at: null,
    created_at: "2026-01-01T00:00:00Z", started_at: null, ended_at: null,
    updated_at: "2026-01-01T00:00:00Z", ...given,
  } as Job;
}

export const brief = (given: Partial<Job> & { id: string }): Brief => briefOf(job(given));

export function queue(name: string, order: Queue["settings"]["order"] = "fifo"): Queue {
  return {
    name,
    settings: {
      max_concurrent: 1, order, on_conflict: "queue", devices: false, anti_starvation: true,
      starvation_picks: 20, starvation_seconds: 60,
    },
    paused: null,
    changed_by_operator: [],
    counts: {},
  };
}

export function live(given: Partial<Present> = {}): Live {
  return liveFrom({
    seq: 10, counts: {}, queues: { mail: queue("mail") }, running: [], waiting: {}, ended: [],
    lanes: [], workers: [], schedules: [], largest_upload: null, ...given,
  });
}

let seq = 10;
export function event(type: string, id: string | null, data: LiveEvent["data"] = {}): LiveEvent {
  seq += 1;
  return { seq, prev: seq - 1, type, at: "2026-01-01T00:01:00Z", job: id, queue: "mail", data };
}

/** Restart the sequence numbers of events after the state of `live`. */
export const afterState = (): void => void (seq = 10);

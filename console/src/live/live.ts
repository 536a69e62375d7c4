// The live state of the page. It is immutable: each batch of events makes a new state that shares
// the unchanged parts, so a component updates only when its part changes.

import type { Lane, Present, Queue, Schedule, Worker } from "../api/types";
import { type Brief, briefOf } from "./brief";

/** The waiting jobs of a queue in order. */
export interface Line {
  readonly jobs: readonly Brief[];
  readonly byId: ReadonlyMap<string, Brief>;
  /** All waiting jobs are loaded; otherwise only the first, and `counts` holds the total. */
  readonly isWhole: boolean;
}

export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface Live {
  readonly seq: number;
  readonly counts: Counts;
  readonly queues: Readonly<Record<string, Queue>>;
  readonly running: ReadonlyMap<string, Brief>;
  readonly waiting: Readonly<Record<string, Line>>;
  readonly ended: readonly Brief[];
  readonly lanes: readonly Lane[];
  readonly workers: readonly Worker[];
  readonly schedules: readonly Schedule[];
  /** The largest upload in bytes; null if the server accepts no uploads. */
  readonly largestUpload: number | null;
}

export const MOST_ENDED = 50;

export const NOTHING: Live = {
  seq: 0,
  counts: {},
  queues: {},
  running: new Map(),
  waiting: {},
  ended: [],
  lanes: [],
  workers: [],
  schedules: [],
  largestUpload: null,
};

export function lineOf(jobs: readonly Brief[], isWhole: boolean): Line {
  return { jobs, byId: new Map(jobs.map((job) => [job.id, job])), isWhole };
}

export function liveFrom(present: Present): Live {
  const waiting: Record<string, Line> = {};
  for (const [queue, jobs] of Object.entries(present.waiting)) {
    const all = waitingIn(present.counts[queue] ?? {});
    waiting[queue] = lineOf(jobs.map(briefOf), jobs.length >= all);
  }
  return {
    seq: present.seq,
    counts: present.counts,
    queues: present.queues,
    running: new Map(present.running.map((job) => [job.id, briefOf(job)])),
    waiting,
    ended: present.ended.map(briefOf),
    lanes: present.lanes,
    workers: present.workers,
    schedules: present.schedules,
    largestUpload: present.largest_upload,
  };
}

/** Count the live jobs of a queue that do not run. */
export function waitingIn(counts: Readonly<Record<string, number>>): number {
  let sum = 0;
  for (const [state, number] of Object.entries(counts)) if (state !== "running") sum += number;
  return sum;
}

export function findJob(live: Live, id: string): Brief | undefined {
  const running = live.running.get(id);
  if (running) return running;
  for (const line of Object.values(live.waiting)) {
    const job = line.byId.get(id);
    if (job) return job;
  }
  return live.ended.find((job) => job.id === id);
}

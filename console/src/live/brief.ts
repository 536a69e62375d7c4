// A job as lists show it. Parameters and results can be large and a list may hold ten thousand
// jobs, so a brief has only one line of them; the page of a job loads the rest.

import type { Job, Reason, Stage } from "../api/types";
import { cut, summaryOfCall } from "./summary";

/** The number of statistics in a brief. */
export const STATISTICS = 6;

type Field =
  | "id" | "task" | "queue" | "lane" | "kind" | "state" | "priority" | "position" | "progress"
  | "attempt" | "crashes" | "stopping" | "worker" | "device" | "due_at" | "created_at"
  | "started_at" | "ended_at";

export interface Brief extends Pick<Job, Field> {
  readonly summary: string;
  readonly stages: readonly Stage[];
  readonly statistics: Readonly<Record<string, unknown>>;
  /** The first numbers of its result. */
  readonly made: Readonly<Record<string, unknown>>;
  readonly waiting_for: readonly Reason[];
  readonly error: { code: string; message: string } | null;
}

export function briefOf(job: Job): Brief {
  return {
    id: job.id,
    task: job.task,
    queue: job.queue,
    lane: job.lane,
    kind: job.kind,
    state: job.state,
    priority: job.priority,
    position: job.position,
    progress: job.progress,
    attempt: job.attempt,
    crashes: job.crashes,
    stopping: job.stopping,
    worker: job.worker,
    device: job.device,
    due_at: job.due_at,
    created_at: job.created_at,
    started_at: job.started_at,
    ended_at: job.ended_at,
    summary: summaryOfCall(job),
    stages: job.stages,
    statistics: firstOf(job.statistics),
    made: figuresOf(job.result),
    waiting_for: job.waiting_for,
    error: job.error && { code: job.error.code, message: cut(job.error.message, 300) },
  };
}

export function firstOf(statistics: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(statistics).slice(0, STATISTICS));
}

const NOTHING: Brief["made"] = {};

function figuresOf(result: unknown): Brief["made"] {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return NOTHING;
  const numbers = Object.entries(result).filter(([, value]) => typeof value === "number");
  return numbers.length > 0 ? Object.fromEntries(numbers.slice(0, STATISTICS)) : NOTHING;
}

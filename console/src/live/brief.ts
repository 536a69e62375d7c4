// A job as lists show it. Parameters and results can be large and there may be ten thousand jobs in
// a list, so only a line of them is kept here; the page of a job asks for the rest.

import type { Job, Reason, Stage } from "../api/types";

const SUMMARY_LENGTH = 160;
const STATISTICS = 6;

type Kept =
  | "id" | "task" | "queue" | "lane" | "kind" | "state" | "priority" | "position" | "progress"
  | "attempt" | "crashes" | "stopping" | "worker" | "device" | "due_at" | "created_at"
  | "started_at" | "ended_at";

export interface Brief extends Pick<Job, Kept> {
  readonly summary: string;
  readonly stages: readonly Stage[];
  readonly statistics: Readonly<Record<string, unknown>>;
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
    summary: summaryOf(job.params),
    stages: job.stages,
    statistics: firstOf(job.statistics),
    waiting_for: job.waiting_for,
    error: job.error && { code: job.error.code, message: cut(job.error.message, 300) },
  };
}

/** Write parameters in one line: the values that say most, and nothing that is empty. */
export function summaryOf(params: Readonly<Record<string, unknown>>): string {
  let line = "";
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === "" || value === undefined || value === false) continue;
    line += `${line && " · "}${name}: ${valueOf(value)}`;
    if (line.length > SUMMARY_LENGTH) break;
  }
  return cut(line, SUMMARY_LENGTH);
}

function valueOf(value: unknown): string {
  if (typeof value === "string") return cut(value, 60);
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === "object") return "{…}";
  return String(value);
}

export function firstOf(statistics: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(statistics).slice(0, STATISTICS));
}

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

// The actions that each state of a job allows; the server holds the same table and decides.

import type { JobState } from "../api/types";

export type Verb = "cancel" | "move" | "priority" | "skip" | "retry" | "rerun";

const VERBS: Record<JobState, readonly Verb[]> = {
  created: [],
  scheduled: ["cancel", "move", "priority", "skip"],
  queued: ["cancel", "move", "priority", "skip"],
  blocked: ["cancel", "move", "priority", "skip"],
  running: ["cancel"],
  retrying: ["cancel", "move", "priority", "skip"],
  interrupted: ["cancel"],
  completed: ["rerun"],
  failed: ["retry", "rerun"],
  cancelled: ["retry", "rerun"],
  skipped: ["rerun"],
};

interface Standing {
  readonly state: JobState;
  readonly position: string | null;
}

/** Return whether a job allows an action; a job without a position cannot be moved. */
export function can(job: Standing, verb: Verb): boolean {
  return VERBS[job.state].includes(verb) && (verb !== "move" || job.position !== null);
}

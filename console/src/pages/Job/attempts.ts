// The attempts of a job, read from its events. The server deletes old events, so the first attempts
// of an old job may be missing.

import type { JobState, LiveEvent } from "../../api/types";

export interface Attempt {
  readonly number: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly worker: string | null;
  /** The state of the job after the attempt; null while it runs. */
  readonly state: JobState | null;
  readonly error: { code: string; message: string } | null;
}

interface Now {
  readonly attempt: number;
  readonly state: JobState;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly worker: string | null;
  readonly error: { code: string; message: string } | null;
}

/** Combine events with the present state of the job, the first attempt first. */
export function attemptsOf(events: readonly LiveEvent[], job: Now): Attempt[] {
  const attempts: Attempt[] = [];
  for (const { type, at, data } of events) {
    if (type !== "job_state_changed") continue;
    if (data.state === "running") {
      attempts.push({
        number: Number(data.attempt ?? attempts.length + 1),
        startedAt: at,
        endedAt: null,
        worker: typeof data.worker === "string" ? data.worker : null,
        state: null,
        error: null,
      });
      continue;
    }
    const last = attempts.at(-1);
    if (data.from !== "running" || !last || last.endedAt !== null) continue;
    const error = data.error as { code: string; message: string } | undefined;
    const state = data.state as JobState;
    attempts[attempts.length - 1] = { ...last, endedAt: at, state, error: error ?? null };
  }
  return withPresent(attempts, job);
}

/** The job holds its newest attempt, even if the event was deleted. */
function withPresent(attempts: Attempt[], job: Now): Attempt[] {
  if (job.started_at === null || job.attempt === 0) return attempts;
  const last = attempts.at(-1);
  if (last && last.number >= job.attempt) return attempts;
  const hasEnded = job.state !== "running";
  const present: Attempt = {
    number: job.attempt,
    startedAt: job.started_at,
    endedAt: hasEnded ? job.ended_at : null,
    worker: job.worker,
    state: hasEnded ? job.state : null,
    error: job.error,
  };
  return [...attempts, present];
}

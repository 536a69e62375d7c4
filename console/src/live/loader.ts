// Loads jobs that events describe incompletely: a few one by one, many by one list of the newest,
// so that a thousand new jobs do not cause a thousand requests.

import { listJobs, showJob } from "../api/calls";
import { Problem } from "../api/problem";
import type { Job, JobState } from "../api/types";
import { MOST_ENDED } from "./live";
import { FINAL, WAITING, isFinal } from "./order";

const ONE_BY_ONE = 6;
const PAUSE_MS = 250;
/** Above this number of unknown jobs, loading the whole state is cheaper. */
const MOST = 1000;

export interface JobReceiver {
  /** Receives jobs in their present state. */
  receive(jobs: readonly Job[]): void;
  /** Too many jobs are unknown. */
  giveUp(): void;
}

export class JobLoader {
  #queued = new Map<string, JobState>();
  #requested = new Set<string>();
  #busy = false;
  #receiver: JobReceiver;

  constructor(receiver: JobReceiver) {
    this.#receiver = receiver;
  }

  load(jobs: ReadonlyMap<string, JobState>): void {
    for (const [id, state] of jobs) this.#queued.set(id, state);
    if (this.#queued.size > MOST) {
      this.forget();
      this.#receiver.giveUp();
    } else if (this.#queued.size > 0 && !this.#busy) {
      void this.#run();
    }
  }

  /** An event changed a job: a response that is under way may be older, so load the job again. */
  touch(id: string, state: JobState): void {
    if (this.#requested.delete(id)) this.#queued.set(id, state);
  }

  forget(): void {
    this.#queued.clear();
    this.#requested.clear();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    try {
      while (this.#queued.size > 0) {
        const round = this.#queued;
        this.#queued = new Map();
        this.#requested = new Set(round.keys());
        const jobs = await this.#load(round);
        const fresh = jobs.filter((job) => this.#requested.has(job.id));
        this.#requested.clear();
        if (fresh.length > 0) this.#receiver.receive(fresh);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      this.forget();
      this.#receiver.giveUp();
    } finally {
      this.#busy = false;
    }
  }

  async #load(round: Map<string, JobState>): Promise<Job[]> {
    const jobs: Job[] = [];
    if (round.size > ONE_BY_ONE) {
      const ended = [...round.values()].filter(isFinal).length;
      const live = round.size - ended;
      const pages = [
        live > 0 ? listJobs({ state: [...WAITING, "running"], limit: Math.min(1000, live * 2) }) : null,
        ended > 0 ? listJobs({ state: FINAL, limit: MOST_ENDED }) : null,
      ];
      for (const page of await Promise.all(pages))
        for (const job of page?.items ?? []) if (round.has(job.id)) jobs.push(job);
      for (const job of jobs) round.delete(job.id);
      // Ended jobs that are not among the newest are single in no list.
      for (const [id, state] of round) if (isFinal(state)) round.delete(id);
    }
    const rest = [...round.keys()].slice(0, ONE_BY_ONE);
    for (const id of [...round.keys()].slice(ONE_BY_ONE)) this.touch(id, round.get(id)!);
    const single = await Promise.all(rest.map((id) => showJob(id).catch(notFound)));
    return jobs.concat(single.filter((job) => job !== null));
  }
}

function notFound(error: unknown): null {
  if (error instanceof Problem && error.status === 404) return null;
  throw error;
}

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

export interface Asker {
  /** Receives jobs in their present state. */
  learn(jobs: readonly Job[]): void;
  /** Too many jobs are unknown. */
  giveUp(): void;
}

export class Asking {
  #wanted = new Map<string, JobState>();
  #asked = new Set<string>();
  #busy = false;
  #asker: Asker;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  want(jobs: ReadonlyMap<string, JobState>): void {
    for (const [id, state] of jobs) this.#wanted.set(id, state);
    if (this.#wanted.size > MOST) {
      this.forget();
      this.#asker.giveUp();
    } else if (this.#wanted.size > 0 && !this.#busy) {
      void this.#run();
    }
  }

  /** An event changed a job: a response that is under way may be older, so load the job again. */
  touch(id: string, state: JobState): void {
    if (this.#asked.delete(id)) this.#wanted.set(id, state);
  }

  forget(): void {
    this.#wanted.clear();
    this.#asked.clear();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    try {
      while (this.#wanted.size > 0) {
        const round = this.#wanted;
        this.#wanted = new Map();
        this.#asked = new Set(round.keys());
        const jobs = await this.#ask(round);
        const fresh = jobs.filter((job) => this.#asked.has(job.id));
        this.#asked.clear();
        if (fresh.length > 0) this.#asker.learn(fresh);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      this.forget();
      this.#asker.giveUp();
    } finally {
      this.#busy = false;
    }
  }

  async #ask(round: Map<string, JobState>): Promise<Job[]> {
    const found: Job[] = [];
    if (round.size > ONE_BY_ONE) {
      const ended = [...round.values()].filter(isFinal).length;
      const live = round.size - ended;
      const pages = [
        live > 0 ? listJobs({ state: [...WAITING, "running"], limit: Math.min(1000, live * 2) }) : null,
        ended > 0 ? listJobs({ state: FINAL, limit: MOST_ENDED }) : null,
      ];
      for (const page of await Promise.all(pages))
        for (const job of page?.items ?? []) if (round.has(job.id)) found.push(job);
      for (const job of found) round.delete(job.id);
      // Ended jobs that are not among the newest are shown in no list.
      for (const [id, state] of round) if (isFinal(state)) round.delete(id);
    }
    const rest = [...round.keys()].slice(0, ONE_BY_ONE);
    for (const id of [...round.keys()].slice(ONE_BY_ONE)) this.touch(id, round.get(id)!);
    const shown = await Promise.all(rest.map((id) => showJob(id).catch(notFound)));
    return found.concat(shown.filter((job) => job !== null));
  }
}

function notFound(error: unknown): null {
  if (error instanceof Problem && error.status === 404) return null;
  throw error;
}

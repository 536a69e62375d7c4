// Loads long lines as a whole while a page needs them.

import type { JobState } from "../api/types";
import { type Live, findJob } from "./live";
import { WAITING } from "./order";
import { readLine, withLine } from "./longline";

interface Holder {
  live: Live;
}

interface Reading {
  /** Jobs that had an event since the load began, with their last state. */
  readonly touched: Map<string, JobState>;
  readonly stop: AbortController;
}

export class Lines {
  #holder: Holder;
  #loadJobs: (jobs: ReadonlyMap<string, JobState>) => void;
  #wanted = new Set<string>();
  #readings = new Map<string, Reading>();
  /** Queues with more jobs than the limit; they are not read again. */
  #tooLong = new Set<string>();

  constructor(holder: Holder, loadJobs: (jobs: ReadonlyMap<string, JobState>) => void) {
    this.#holder = holder;
    this.#loadJobs = loadJobs;
  }

  want(queue: string): void {
    this.#wanted.add(queue);
    if (this.#holder.live.waiting[queue]?.isWhole !== false) return;
    if (!this.#readings.has(queue) && !this.#tooLong.has(queue)) void this.#read(queue);
  }

  release(queue: string): void {
    this.#wanted.delete(queue);
    this.#tooLong.delete(queue);
    this.#readings.get(queue)?.stop.abort();
  }

  /** An event changed a job: the part that is being read may be older. */
  touch(job: string, state: JobState): void {
    for (const { touched } of this.#readings.values()) touched.set(job, state);
  }

  /** Restart the reads after the state was loaded again, because events may be missing. */
  restart(): void {
    for (const { stop } of this.#readings.values()) stop.abort();
    for (const queue of this.#wanted) this.want(queue);
  }

  async #read(queue: string): Promise<void> {
    const reading = { touched: new Map<string, JobState>(), stop: new AbortController() };
    const { signal } = reading.stop;
    this.#readings.set(queue, reading);
    try {
      for await (const part of readLine(queue, signal)) {
        if (signal.aborted) break;
        this.#holder.live = withLine(this.#holder.live, queue, part, reading.touched);
      }
      // While the line was incomplete, jobs at its end had no place in it.
      const { live } = this.#holder;
      const waiting = [...reading.touched].filter(([, state]) => WAITING.includes(state));
      this.#loadJobs(new Map(waiting.filter(([id]) => !findJob(live, id))));
      if (!signal.aborted && !this.#holder.live.waiting[queue]?.isWhole) this.#tooLong.add(queue);
    } catch {
      // The next scroll requests it again.
    }
    this.#readings.delete(queue);
    if (signal.aborted && this.#wanted.has(queue)) this.want(queue);
  }
}

// Ended jobs in the chosen range: the newest, read page by page, and those that end meanwhile.

import { listJobs } from "../../api/calls";
import { asProblem, type Problem } from "../../api/problem";
import type { JobState, LiveEvent } from "../../api/types";
import { STATISTICS } from "../../live/brief";
import { feed } from "../../live/feed.svelte";
import { FINAL, isFinal } from "../../live/order";
import { type Sample, sampleOf } from "./samples";

export const MOST = 5000;
const PAGE = 1000;
const CATCH_UP = 200;
const EVERY_MS = 1_000;

export class EndedJobs {
  /** The newest first. */
  samples: readonly Sample[] = $state.raw([]);
  isReading = $state(true);
  /** Older jobs exist beyond the limit. */
  isCut = $state(false);
  problem: Problem | null = $state.raw(null);
  #known = new Map<string, Sample>();
  #queue: string | undefined;
  #stop = new AbortController();
  /** Jobs that ended since the samples were last published. */
  #recent = new Set<string>();
  #isPartial = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Follow a queue, or all, back to `since`; returns the function that stops it. */
  follow(queue: string | undefined, since: string | undefined): () => void {
    this.#queue = queue;
    this.#known.clear();
    this.#stop = new AbortController();
    void this.#read(queue, since, this.#stop.signal);
    return () => {
      this.#stop.abort();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#recent.clear();
    };
  }

  receive(events: readonly LiveEvent[]): void {
    const ids = new Set<string>();
    for (const { type, job, queue, data } of events) {
      if (type !== "job_state_changed" || job === null) continue;
      if (!isFinal(data.state as JobState)) this.#known.delete(job); // it was retried
      else if (this.#queue === undefined || queue === this.#queue) ids.add(job);
    }
    if (ids.size === 0) return;
    for (const id of ids) this.#recent.add(id);
    this.#addSamples(ids);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // The final statistics of a job are known a little after its event.
      this.#addSamples(this.#recent);
      for (const id of this.#recent) if (!this.#known.has(id)) this.#isPartial = true;
      this.#recent.clear();
      this.#show();
      // A list holds only the first statistics of a job.
      if (this.#isPartial) void this.catchUp();
      this.#isPartial = false;
    }, EVERY_MS);
  }

  #addSamples(ids: ReadonlySet<string>): void {
    for (const job of feed.live.ended) {
      if (!ids.has(job.id)) continue;
      this.#known.set(job.id, sampleOf(job));
      if (Object.keys(job.statistics).length >= STATISTICS) this.#isPartial = true;
    }
  }

  /** Read the jobs that ended while events were missing. */
  async catchUp(): Promise<void> {
    if (this.isReading) return;
    const { signal } = this.#stop;
    try {
      const page = await listJobs({ state: FINAL, queue: this.#queue, limit: CATCH_UP }, signal);
      for (const job of page.items) this.#known.set(job.id, sampleOf(job));
      this.#show();
    } catch {
      // The next load of the state tries again.
    }
  }

  async #read(queue: string | undefined, since: string | undefined, signal: AbortSignal): Promise<void> {
    this.isReading = true;
    this.problem = null;
    let cursor: string | undefined;
    try {
      do {
        const page = await listJobs({ state: FINAL, queue, since, limit: PAGE, cursor }, signal);
        if (signal.aborted) return;
        for (const job of page.items) this.#known.set(job.id, sampleOf(job));
        cursor = page.next ?? undefined;
        this.isCut = cursor !== undefined;
        this.#show();
      } while (cursor !== undefined && this.#known.size < MOST);
    } catch (error) {
      if (!signal.aborted) this.problem = asProblem(error);
    } finally {
      if (!signal.aborted) this.isReading = false;
    }
  }

  #show(): void {
    const sorted = [...this.#known.values()].sort((a, b) => b.endedAt - a.endedAt);
    for (const old of sorted.splice(MOST)) {
      this.#known.delete(old.id);
      this.isCut = true;
    }
    this.samples = sorted;
  }
}

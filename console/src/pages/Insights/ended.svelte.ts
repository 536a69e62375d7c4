// Jobs that have ended, as far as they are looked at: the newest, read page by page, and those that
// end meanwhile.

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
  /** There are older ones that are not looked at. */
  isCut = $state(false);
  problem: Problem | null = $state.raw(null);
  #known = new Map<string, Sample>();
  #queue: string | undefined;
  #stop = new AbortController();
  /** Those that have ended since samples were last shown. */
  #recent = new Set<string>();
  #isPartial = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Look at a queue, or all, and no further back than `since`; returns how to stop. */
  look(queue: string | undefined, since: string | undefined): () => void {
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

  hear(events: readonly LiveEvent[]): void {
    const ids = new Set<string>();
    for (const { type, job, queue, data } of events) {
      if (type !== "job_state_changed" || job === null) continue;
      if (!isFinal(data.state as JobState)) this.#known.delete(job); // it was retried
      else if (this.#queue === undefined || queue === this.#queue) ids.add(job);
    }
    if (ids.size === 0) return;
    for (const id of ids) this.#recent.add(id);
    this.#take(ids);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // What a job reported at last, or one that was over at once, is known only a little later.
      this.#take(this.#recent);
      for (const id of this.#recent) if (!this.#known.has(id)) this.#isPartial = true;
      this.#recent.clear();
      this.#show();
      // A list holds only the first that a job reported.
      if (this.#isPartial) void this.catchUp();
      this.#isPartial = false;
    }, EVERY_MS);
  }

  #take(ids: ReadonlySet<string>): void {
    for (const job of feed.live.ended) {
      if (!ids.has(job.id)) continue;
      this.#known.set(job.id, sampleOf(job));
      if (Object.keys(job.statistics).length >= STATISTICS) this.#isPartial = true;
    }
  }

  /** Look for what ended while nobody told. */
  async catchUp(): Promise<void> {
    if (this.isReading) return;
    const { signal } = this.#stop;
    try {
      const page = await listJobs({ state: FINAL, queue: this.#queue, limit: CATCH_UP }, signal);
      for (const job of page.items) this.#known.set(job.id, sampleOf(job));
      this.#show();
    } catch {
      // The next time that the state is taken it is tried again.
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

// Found jobs, page by page. The server searches a limited number of jobs per request, so a page may
// be empty; the search continues for a while and then waits for a click.

import { listJobs, type JobFilter } from "../../api/calls";
import { asProblem, type Problem } from "../../api/problem";
import { type Brief, briefOf } from "../../live/brief";
import { loadTasks } from "../../live/defaults";
import { append, type Found, renew } from "./merge";

const PAGE = 100;
export const MOST = 5000;
const EMPTY_PAGES = 5;
const SHORTEST_MS = 1_500;
const COSTS = 10; // times the duration of the last response
const NOTHING: Found<Brief> = { items: [], next: null };

export class Past {
  found: Found<Brief> = $state.raw(NOTHING);
  isReady = $state(false);
  isReading = $state(false);
  /** Newer jobs exist, and the list was not replaced because the user is reading it. */
  isOld = $state(false);
  problem: Problem | null = $state.raw(null);
  #filter: JobFilter = {};
  #stop = new AbortController();
  #renewing = false;
  #restUntil = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  get isCut(): boolean {
    return this.found.next !== null && this.found.items.length >= MOST;
  }

  /** Start a new search; returns the function that stops it. */
  look(filter: JobFilter): () => void {
    this.#filter = filter;
    this.#stop.abort();
    this.#stop = new AbortController();
    this.found = NOTHING;
    this.isReady = false;
    this.isReading = false;
    void this.#read();
    return () => {
      this.#stop.abort();
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Read the next page. */
  more(): void {
    if (this.found.next !== null && !this.isReading && !this.isCut) void this.#read();
  }

  /** An event may have changed the list. `now`: the list may be replaced at once. */
  touch(now: () => boolean): void {
    const wait = Math.max(400, this.#restUntil - performance.now());
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (now()) void this.renew();
      else this.isOld = true;
    }, wait);
  }

  /** Read the first page again. */
  async renew(): Promise<void> {
    if (this.#renewing || !this.isReady) return;
    const began = performance.now();
    const { signal } = this.#stop;
    this.#renewing = true;
    this.isOld = false;
    try {
      const page = await this.#page(undefined, signal);
      if (!signal.aborted) this.found = renew(this.found, page);
    } catch {
      this.isOld = true; // the button to reload stays available
    } finally {
      this.#renewing = false;
      const took = performance.now() - began;
      this.#restUntil = performance.now() + Math.max(SHORTEST_MS, COSTS * took);
    }
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop;
    this.isReading = true;
    this.problem = null;
    try {
      for (let left = EMPTY_PAGES; left > 0; left -= 1) {
        const page = await this.#page(this.found.next ?? undefined, signal);
        if (signal.aborted) return;
        this.found = append(this.found, page);
        if (page.items.length > 0 || page.next === null) break;
      }
      this.isReady = true;
    } catch (error) {
      if (!signal.aborted) this.problem = asProblem(error);
    } finally {
      if (!signal.aborted) this.isReading = false;
    }
  }

  async #page(cursor: string | undefined, signal: AbortSignal): Promise<Found<Brief>> {
    const request = listJobs({ ...this.#filter, limit: PAGE, cursor }, signal);
    const [page] = await Promise.all([request, loadTasks()]);
    return { items: page.items.map(briefOf), next: page.next };
  }
}

// The lanes of a queue, read again after every event that may change one of them.
//
// Events do not name the lane of a job, and the server reads all lanes to return one. So the list
// is read as a whole, with a pause that keeps its cost a small part of the time.

import type { Lane, LiveEvent } from "../../api/types";
import { listLanes } from "../../api/lanes";

const PAGE = 1000;
export const MOST = 3000;
const SOON_MS = 120;
const SHORTEST_MS = 600;
const LONGEST_MS = 3000;
const COSTS = 5; // times the duration of the last read

export class Lanes {
  items: readonly Lane[] = $state.raw([]);
  isReady = $state(false);
  /** The queue has more lanes than the limit. */
  isCut = $state(false);
  #queue: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restUntil = 0;
  #isReading = false;
  #again = false;

  /** Follow one queue, or all; returns the function that stops it. */
  follow(queue: string | undefined): () => void {
    this.#queue = queue;
    this.isReady = false;
    void this.#read();
    return () => clearTimeout(this.#timer);
  }

  receive(events: readonly LiveEvent[]): void {
    const concerns = ({ type, queue }: LiveEvent) =>
      (type === "lane_changed" || type === "job_state_changed") &&
      (this.#queue === undefined || queue === this.#queue);
    if (events.some(concerns)) this.refresh();
  }

  /** Read the list soon. */
  refresh(): void {
    if (this.#isReading) {
      this.#again = true;
      return;
    }
    const wait = Math.max(SOON_MS, this.#restUntil - performance.now());
    this.#timer ??= setTimeout(() => void this.#read(), wait);
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const began = performance.now();
    const queue = this.#queue;
    this.#isReading = true;
    try {
      const found: Lane[] = [];
      let cursor: string | undefined;
      do {
        const page = await listLanes({ queue, limit: PAGE, cursor });
        found.push(...page.items);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined && found.length < MOST);
      if (queue !== this.#queue) return;
      this.items = found;
      this.isCut = cursor !== undefined;
      this.isReady = true;
    } catch {
      // The connection indicator shows the error; events after the reconnection trigger a new read.
    } finally {
      this.#isReading = false;
      const took = performance.now() - began;
      this.#restUntil = performance.now() + Math.min(LONGEST_MS, Math.max(SHORTEST_MS, COSTS * took));
      if (this.#again) {
        this.#again = false;
        this.refresh();
      }
    }
  }
}

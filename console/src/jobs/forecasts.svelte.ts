// Expected starts of waiting jobs. The server simulates its scheduler for each forecast, so the
// console requests it rarely: the longer a response takes, the longer the pause.

import { forecast } from "../api/calls";

const SHORTEST_MS = 8_000;
const COSTS = 20; // times the duration of the last response
const LIMIT = 1_000;

export class Forecasts {
  #starts: ReadonlyMap<string, number> = $state.raw(new Map());
  emptyAt: number | null = $state(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the followers, so that a response to an earlier follower is dropped. */
  #turn = 0;

  /** Follow one queue, or all; returns the function that stops it. */
  follow(queue: string | undefined): () => void {
    const turn = (this.#turn += 1);
    void this.#request(queue, turn);
    return () => {
      this.#turn += 1;
      clearTimeout(this.#timer);
    };
  }

  /** The expected start of a job in milliseconds; undefined if it is unknown. */
  startOf(id: string): number | undefined {
    return this.#starts.get(id);
  }

  async #request(queue: string | undefined, turn: number): Promise<void> {
    const began = performance.now();
    if (!document.hidden) {
      try {
        const found = await forecast({ limit: LIMIT, ...(queue ? { queue } : {}) });
        if (turn !== this.#turn) return;
        this.#starts = new Map(
          found.items.flatMap(({ job, starts_at }) =>
            starts_at === null ? [] : [[job, Date.parse(starts_at)] as const],
          ),
        );
        this.emptyAt = found.empty_at === null ? null : Date.parse(found.empty_at);
      } catch {
        // A forecast is optional; the next request may succeed.
      }
    }
    if (turn !== this.#turn) return;
    const wait = Math.max(SHORTEST_MS, COSTS * (performance.now() - began));
    this.#timer = setTimeout(() => void this.#request(queue, turn), wait);
  }
}

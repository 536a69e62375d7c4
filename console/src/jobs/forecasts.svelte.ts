// When waiting jobs are expected to start. The server works it out by running its scheduler ahead,
// which costs it something, so it is asked slowly, and the slower the longer it takes.

import { forecast } from "../api/calls";

const SHORTEST_MS = 8_000;
const COSTS = 20; // times what an answer took
const LIMIT = 1_000;

export class Forecasts {
  #starts: ReadonlyMap<string, number> = $state.raw(new Map());
  emptyAt: number | null = $state(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queue: string | undefined;
  #isOver = false;

  /** Follow one queue, or all; returns how to stop. */
  follow(queue: string | undefined): () => void {
    this.#queue = queue;
    this.#isOver = false;
    void this.#ask();
    return () => {
      this.#isOver = true;
      clearTimeout(this.#timer);
    };
  }

  /** When a job is expected to start, in milliseconds; undefined if nothing is known. */
  startOf(id: string): number | undefined {
    return this.#starts.get(id);
  }

  async #ask(): Promise<void> {
    const began = performance.now();
    const queue = this.#queue;
    if (!document.hidden) {
      try {
        const found = await forecast({ limit: LIMIT, ...(queue ? { queue } : {}) });
        if (this.#isOver || queue !== this.#queue) return;
        this.#starts = new Map(
          found.items.flatMap(({ job, starts_at }) =>
            starts_at === null ? [] : [[job, Date.parse(starts_at)] as const],
          ),
        );
        this.emptyAt = found.empty_at === null ? null : Date.parse(found.empty_at);
      } catch {
        // It is only a guess; the next one may work.
      }
    }
    if (this.#isOver) return;
    const wait = Math.max(SHORTEST_MS, COSTS * (performance.now() - began));
    this.#timer = setTimeout(() => void this.#ask(), wait);
  }
}

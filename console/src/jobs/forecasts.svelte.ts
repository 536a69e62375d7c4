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
  /** Counts who follows, so that an answer to somebody before is not taken. */
  #turn = 0;

  /** Follow one queue, or all; returns how to stop. */
  follow(queue: string | undefined): () => void {
    const turn = (this.#turn += 1);
    void this.#ask(queue, turn);
    return () => {
      this.#turn += 1;
      clearTimeout(this.#timer);
    };
  }

  /** When a job is expected to start, in milliseconds; undefined if nothing is known. */
  startOf(id: string): number | undefined {
    return this.#starts.get(id);
  }

  async #ask(queue: string | undefined, turn: number): Promise<void> {
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
        // It is only a guess; the next one may work.
      }
    }
    if (turn !== this.#turn) return;
    const wait = Math.max(SHORTEST_MS, COSTS * (performance.now() - began));
    this.#timer = setTimeout(() => void this.#ask(queue, turn), wait);
  }
}

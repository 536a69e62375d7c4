// The time when a queue is empty, at present and with another limit. The server simulates its
// scheduler for it, so the request is sent when the slider rests, and at long intervals.

import { forecast } from "../../api/calls";
import { asProblem } from "../../api/problem";
import { foreseen, type Foreseen } from "./comparison";

const RESTS_MS = 300;
const SHORTEST_MS = 6_000;
const COSTS = 20; // times the duration of the last responses
const LIMIT = 5000;

export class WhatIf {
  present: Foreseen | null = $state.raw(null);
  other: Foreseen | null = $state.raw(null);
  /** The limit of the forecast in `other`. */
  answered: number | null = $state(null);
  isAsking = $state(false);
  problem = $state("");
  #queue = "";
  #wanted: number | null = null;
  #round = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Follow a queue; returns the function that stops it. */
  follow(queue: string): () => void {
    this.#queue = queue;
    this.#wanted = null;
    this.present = this.other = null;
    this.answered = null;
    void this.#request();
    return () => {
      this.#round += 1;
      clearTimeout(this.#timer);
    };
  }

  /** Request a forecast with another limit; null: the present limit. */
  want(limit: number | null): void {
    this.#wanted = limit;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#request(), RESTS_MS);
    this.isAsking = true;
  }

  async #request(): Promise<void> {
    const round = (this.#round += 1);
    const began = performance.now();
    const limit = this.#wanted;
    const query = { queue: this.#queue, limit: LIMIT };
    this.isAsking = true;
    try {
      const [present, other] = await Promise.all([
        forecast(query),
        limit === null ? null : forecast({ ...query, max_concurrent: limit }),
      ]);
      if (round !== this.#round) return;
      this.present = foreseen(present);
      this.other = other && foreseen(other);
      this.answered = limit;
      this.problem = "";
    } catch (error) {
      if (round !== this.#round) return;
      this.problem = asProblem(error).detail;
    }
    this.isAsking = false;
    const wait = Math.max(SHORTEST_MS, COSTS * (performance.now() - began));
    this.#timer = setTimeout(() => void this.#request(), wait);
  }
}

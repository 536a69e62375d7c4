// The last jobs of lanes. A lane names only the id of its last job, so the jobs of visible rows are
// loaded, a few at a time, and the newest are cached.

import { SvelteMap } from "svelte/reactivity";
import { showJob } from "../../api/calls";
import type { LiveEvent } from "../../api/types";
import { type Brief, briefOf } from "../../live/brief";

const AT_ONCE = 4;
const MOST_CACHED = 300;

export class Pasts {
  #known = new SvelteMap<string, Brief | null>();
  #wanted: string[] = [];
  #requests = 0;

  /** The job; null if there is none, undefined while it is unknown. */
  of(id: string): Brief | null | undefined {
    return this.#known.get(id);
  }

  want(id: string): void {
    if (this.#known.has(id) || this.#wanted.includes(id)) return;
    this.#wanted.push(id);
    if (this.#requests < AT_ONCE) void this.#request();
  }

  /** Load a changed job again at its next use. */
  receive(events: readonly LiveEvent[]): void {
    for (const { type, job } of events)
      if (type === "job_state_changed" && job !== null) this.#known.delete(job);
  }

  async #request(): Promise<void> {
    this.#requests += 1;
    for (let id = this.#wanted.shift(); id !== undefined; id = this.#wanted.shift()) {
      const found = await showJob(id).then(briefOf, () => null);
      this.#known.set(id, found);
      const oldest = this.#known.keys().next().value;
      if (this.#known.size > MOST_CACHED && oldest !== undefined) this.#known.delete(oldest);
    }
    this.#requests -= 1;
  }
}

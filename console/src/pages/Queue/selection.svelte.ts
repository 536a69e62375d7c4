// The selected waiting jobs. A job that no longer waits is no longer selected.

import { SvelteSet } from "svelte/reactivity";

export class Selection {
  ids = new SvelteSet<string>();
  #last: string | undefined;

  has(id: string): boolean {
    return this.ids.has(id);
  }

  /** Select or deselect a job; with `through`, all jobs from the previous one up to it. */
  toggle(id: string, order: readonly string[], through = false): void {
    const from = this.#last === undefined ? -1 : order.indexOf(this.#last);
    const to = order.indexOf(id);
    if (through && from >= 0 && to >= 0) {
      for (const one of order.slice(Math.min(from, to), Math.max(from, to) + 1)) this.ids.add(one);
    } else if (!this.ids.delete(id)) {
      this.ids.add(id);
    }
    this.#last = id;
  }

  set(ids: Iterable<string>): void {
    this.clear();
    for (const id of ids) this.ids.add(id);
  }

  keep(isThere: (id: string) => boolean): void {
    for (const id of this.ids) if (!isThere(id)) this.ids.delete(id);
  }

  clear(): void {
    this.ids.clear();
    this.#last = undefined;
  }
}

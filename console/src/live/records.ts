// Queues, workers and schedules, which events only name: one read for all requests meanwhile.

import { listQueues, listSchedules, listWorkers } from "../api/calls";
import type { Live } from "./live";
import type { ToLoad } from "./reduce";

const PAUSE_MS = 500;

type Kind = "queues" | "workers" | "schedules";

const READ: { [K in Kind]: () => Promise<Live[K]> } = {
  queues: async () =>
    Object.fromEntries((await listQueues()).items.map((queue) => [queue.name, queue])),
  workers: async () => (await listWorkers()).items,
  schedules: async () => (await listSchedules()).items,
};

export class Records {
  /** The reads under way, and whether another read must follow. */
  #reading = new Map<Kind, boolean>();
  #store: (changes: Partial<Live>) => void;

  constructor(store: (changes: Partial<Live>) => void) {
    this.#store = store;
  }

  want(toLoad: ToLoad): void {
    for (const kind of ["queues", "workers", "schedules"] as const)
      if (toLoad[kind]) void this.#read(kind);
  }

  async #read(kind: Kind): Promise<void> {
    if (this.#reading.has(kind)) {
      this.#reading.set(kind, true);
      return;
    }
    this.#reading.set(kind, false);
    try {
      this.#store({ [kind]: await READ[kind]() });
    } catch {
      // The next state brings the records that cannot be read now.
    }
    const again = this.#reading.get(kind);
    this.#reading.delete(kind);
    if (again) setTimeout(() => void this.#read(kind), PAUSE_MS);
  }
}

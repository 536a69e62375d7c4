// The event stream of the server through one `EventSource`, which reconnects by itself.

import { address } from "../api/client";
import type { LiveEvent } from "../api/types";

// An EventSource receives only the types that have a listener.
const TYPES = [
  "job_state_changed", "job_progress", "job_log", "job_moved", "job_stopping", "job_stuck",
  "queue_changed", "limit_changed", "lane_changed", "schedule_changed", "schedule_fired",
  "device_changed", "worker_changed", "resync",
];

export interface Follower {
  onevent(event: LiveEvent): void;
  /** The stream is open; `again` after it was lost. */
  onopen(again: boolean): void;
  /** The stream is lost; `forGood` if the browser will not reconnect. */
  onlost(forGood: boolean): void;
}

export class Stream {
  #source: EventSource;
  #wasOpen = false;

  constructor(after: number, follower: Follower, only: { job?: string } = {}) {
    const source = new EventSource(address("/api/events", { after, ...only }));
    this.#source = source;
    const receive = (message: MessageEvent<string>) => follower.onevent(JSON.parse(message.data));
    for (const type of TYPES) source.addEventListener(type, receive);
    source.onopen = () => {
      follower.onopen(this.#wasOpen);
      this.#wasOpen = true;
    };
    source.onerror = () => follower.onlost(source.readyState === EventSource.CLOSED);
  }

  close(): void {
    this.#source.onopen = this.#source.onerror = null;
    this.#source.close();
  }
}

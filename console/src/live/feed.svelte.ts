// The live state of the page: the server's state, updated by its events.
//
// The state is loaded once. Events are collected and applied together, once per frame. While a
// state is being loaded, events only collect, so that an older state never overwrites a newer
// change. The state is loaded again after a gap in the events, a `resync` event, a lost connection,
// and after the page was hidden.

import { readState } from "../api/calls";
import { asProblem } from "../api/problem";
import type { Job, JobState, LiveEvent } from "../api/types";
import { JobLoader } from "./loader";
import { briefOf } from "./brief";
import { Draft } from "./draft";
import { Lines } from "./lines";
import { type Live, NOTHING, liveFrom, waitingIn } from "./live";
import { Records } from "./records";
import { reduce } from "./reduce";
import { settledBy } from "./settled";
import { Stream } from "./stream";
import { expireTasks, loadTasks } from "./defaults";
import { withLoadedTails } from "./longline";

export type Connection = "connecting" | "live" | "reconnecting" | "signed_out";
type Listener = (events: readonly LiveEvent[]) => void;

const PAUSE_MS = 50; // twenty updates a second are enough for a reader
const MOST_COLLECTED = 10_000;
const LONGEST_WAIT_MS = 10_000;
const HIDDEN_MS = 30_000; // after that a hidden page closes its connection
const REFILL_BELOW = 60;
const SILENCE_MS = 45_000; // after that the feed checks whether the stream is alive

class Feed {
  live: Live = $state.raw(NOTHING);
  connection: Connection = $state("connecting");
  /** The first state is loaded. */
  isReady = $state(false);
  /**
   * Counts the loads of the state. Data that a page holds besides it may be stale after each load.
   */
  loads = $state(0);

  #stream: Stream | undefined;
  #collected: LiveEvent[] = [];
  #listeners = new Set<Listener>();
  #isScheduled = false;
  #appliedAt = 0;
  #receivedAt = Date.now();
  #loading = false;
  #loadAgain = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #hiddenAt = 0;
  #loader = new JobLoader({
    receive: (jobs) => this.#store(jobs),
    giveUp: () => void this.load(),
  });
  #records = new Records((changes) => (this.live = { ...this.live, ...changes }));
  #lines = new Lines(this, (jobs) => this.#loader.load(jobs));

  /** Start to follow the server; also called after a sign-in. */
  start(): void {
    clearTimeout(this.#timer);
    this.#close();
    if (this.connection !== "connecting") this.connection = "reconnecting";
    expireTasks();
    void this.load();
  }

  signedOut(): void {
    clearTimeout(this.#timer);
    this.#close();
    this.connection = "signed_out";
  }

  /** Call the listener after each applied batch of events. Returns the function that removes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Load the state again, now or after the load that is under way. */
  async load(): Promise<void> {
    if (this.#loading) {
      this.#loadAgain = true;
      return;
    }
    this.#loading = true;
    try {
      const [present] = await Promise.all([readState(), loadTasks()]);
      const next = liveFrom(present);
      this.#loader.forget();
      this.live = withLoadedTails(next, this.live);
      this.isReady = true;
      this.loads += 1;
      this.#failures = 0;
      this.#stream ??= this.#open(next.seq);
    } catch (error) {
      if (asProblem(error).status === 401) this.signedOut();
      else this.#retryLater();
      return;
    } finally {
      this.#loading = false;
    }
    const again = this.#loadAgain;
    this.#loadAgain = false;
    if (again) void this.load();
    else this.#schedule();
    this.#lines.restart();
  }

  /** Load every waiting job of a queue. */
  wantWhole(queue: string): void {
    this.#lines.want(queue);
  }

  /** Stop holding the whole line of a queue. */
  releaseWhole(queue: string): void {
    this.#lines.release(queue);
  }

  watchPage(): void {
    setInterval(() => void this.#checkSilence(), SILENCE_MS / 3);
    document.addEventListener("visibilitychange", () => this.#onVisibility(!document.hidden));
    addEventListener("online", () => this.start());
    addEventListener("offline", () => this.#lost(true));
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.start();
    });
  }

  #onVisibility(visible: boolean): void {
    clearTimeout(this.#hiddenTimer);
    if (this.connection === "signed_out") return;
    if (!visible) {
      this.#hiddenAt = Date.now();
      this.#hiddenTimer = setTimeout(() => this.#close(), HIDDEN_MS);
    } else if (!this.#stream) {
      this.start();
    } else if (Date.now() - this.#hiddenAt > 2_000) {
      void this.load();
    }
  }

  /** Compare the sequence numbers: a connection may die silently, and then events are missing. */
  async #checkSilence(): Promise<void> {
    if (this.connection !== "live" || Date.now() - this.#receivedAt < SILENCE_MS) return;
    this.#receivedAt = Date.now();
    const before = this.live.seq;
    await this.load();
    if (this.live.seq > before && this.#collected.length === 0) this.start();
  }

  #open(after: number): Stream {
    return new Stream(after, {
      onevent: (event) => this.#receive(event),
      onopen: (again) => {
        this.connection = "live";
        if (again) void this.load();
      },
      onlost: (forGood) => this.#lost(forGood),
    });
  }

  #close(): void {
    this.#stream?.close();
    this.#stream = undefined;
    this.#collected = [];
  }

  #lost(forGood: boolean): void {
    if (this.connection === "signed_out") return;
    this.connection = "reconnecting";
    if (forGood) {
      this.#close();
      this.#retryLater();
    }
  }

  #retryLater(): void {
    this.connection = "reconnecting";
    const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.start(), wait);
  }

  #receive(event: LiveEvent): void {
    this.#receivedAt = Date.now();
    if (event.type === "resync" || this.#collected.length >= MOST_COLLECTED) {
      this.#collected = [];
      void this.load();
      return;
    }
    this.#collected.push(event);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#loading || this.#collected.length === 0) return;
    this.#isScheduled = true;
    const apply = () => {
      this.#isScheduled = false;
      this.#appliedAt = performance.now();
      if (!this.#loading) this.#apply();
    };
    const wait = this.#appliedAt + PAUSE_MS - performance.now();
    // A hidden page gets no animation frames.
    if (document.hidden) setTimeout(apply, 500);
    else if (wait > 0) setTimeout(() => requestAnimationFrame(apply), wait);
    else requestAnimationFrame(apply);
  }

  #apply(): void {
    const events = this.#collected;
    this.#collected = [];
    const { live, toLoad, gap } = reduce(this.live, events);
    this.#touch(events);
    this.live = live;
    for (const listener of this.#listeners) listener(events);
    if (gap) {
      void this.load();
      return;
    }
    this.#loader.load(new Map([...settledBy(events), ...toLoad.jobs]));
    this.#records.want(toLoad);
    this.#refill();
  }

  #touch(events: readonly LiveEvent[]): void {
    for (const { job, type, data } of events) {
      if (job === null || type === "job_progress" || type === "job_log") continue;
      const state = (data.state as JobState | undefined) ?? "queued";
      this.#loader.touch(job, state);
      this.#lines.touch(job, state);
    }
  }

  #store(jobs: readonly Job[]): void {
    const draft = new Draft(this.live);
    for (const job of jobs) draft.put(briefOf(job));
    this.live = draft.done(this.live.seq);
  }

  /** Load more of a long line when most of its loaded jobs have left. */
  #refill(): void {
    for (const [queue, line] of Object.entries(this.live.waiting)) {
      if (line.isWhole || line.jobs.length >= REFILL_BELOW) continue;
      if (waitingIn(this.live.counts[queue] ?? {}) > line.jobs.length) {
        void this.load();
        return;
      }
    }
  }
}

export const feed = new Feed();

// The truth in the page: the state of the server, kept true by its events.
//
// The state is taken once; events are gathered and applied together, once per frame. While a state
// is on its way they only gather, so that it can never undo what was shown already. It is taken
// again after a gap, a `resync`, a connection that was lost and a page that was out of sight.

import { listQueues, listSchedules, listWorkers, takeState } from "../api/calls";
import { asProblem } from "../api/problem";
import type { Job, JobState, LiveEvent } from "../api/types";
import { Asking } from "./asking";
import { briefOf } from "./brief";
import { Draft } from "./draft";
import { type Live, NOTHING, liveFrom, waitingIn } from "./live";
import { type Wanted, reduce } from "./reduce";
import { Stream } from "./stream";
import { readLine, withKnownTails, withLine } from "./whole";

export type Connection = "connecting" | "live" | "reconnecting" | "signed_out";
type Listener = (events: readonly LiveEvent[]) => void;

const PAUSE_MS = 50; // nobody sees more than twenty changes a second
const MOST_GATHERED = 10_000;
const LONGEST_WAIT_MS = 10_000;
const HIDDEN_MS = 30_000; // after that a page out of sight gives its connection back
const REFILL_BELOW = 60;

class Feed {
  live: Live = $state.raw(NOTHING);
  connection: Connection = $state("connecting");
  /** The first state has come. */
  isReady = $state(false);
  /** How often the state was taken. What a page keeps beside it may be old after each time. */
  takes = $state(0);

  #stream: Stream | undefined;
  #gathered: LiveEvent[] = [];
  #listeners = new Set<Listener>();
  #isScheduled = false;
  #appliedAt = 0;
  #taking = false;
  #takeAgain = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #hiddenAt = 0;
  #whole = new Map<string, { touched: Set<string>; stop: AbortController }>();
  #wantWhole = new Set<string>();
  #tooLong = new Set<string>();
  #asking = new Asking({
    learn: (jobs) => this.#learn(jobs),
    giveUp: () => void this.take(),
  });

  /** Begin to follow; whoever has signed in begins anew. */
  start(): void {
    clearTimeout(this.#timer);
    this.#close();
    if (this.connection !== "connecting") this.connection = "reconnecting";
    void this.take();
  }

  signedOut(): void {
    clearTimeout(this.#timer);
    this.#close();
    this.connection = "signed_out";
  }

  /** Be told of every batch of events, after it was applied. Returns how to stop that. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Take the state again, now or when the one that is on its way has come. */
  async take(): Promise<void> {
    if (this.#taking) {
      this.#takeAgain = true;
      return;
    }
    this.#taking = true;
    try {
      const next = liveFrom(await takeState());
      this.#asking.forget();
      this.live = withKnownTails(next, this.live);
      this.isReady = true;
      this.takes += 1;
      this.#failures = 0;
      this.#stream ??= this.#open(next.seq);
    } catch (error) {
      if (asProblem(error).status === 401) this.signedOut();
      else this.#later();
      return;
    } finally {
      this.#taking = false;
    }
    const again = this.#takeAgain;
    this.#takeAgain = false;
    if (again) void this.take();
    else this.#schedule();
    for (const queue of this.#wantWhole) this.wantWhole(queue);
  }

  /** See to it that every waiting job of a queue is here. */
  wantWhole(queue: string): void {
    this.#wantWhole.add(queue);
    if (this.live.waiting[queue]?.isWhole !== false) return;
    if (!this.#whole.has(queue) && !this.#tooLong.has(queue)) void this.#readWhole(queue);
  }

  /** The long line of a queue is no longer looked at. */
  releaseWhole(queue: string): void {
    this.#wantWhole.delete(queue);
    this.#tooLong.delete(queue);
    this.#whole.get(queue)?.stop.abort();
  }

  watchPage(): void {
    document.addEventListener("visibilitychange", () => this.#seen(!document.hidden));
    addEventListener("online", () => this.start());
    addEventListener("offline", () => this.#lost(true));
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.start();
    });
  }

  #seen(visible: boolean): void {
    clearTimeout(this.#hiddenTimer);
    if (this.connection === "signed_out") return;
    if (!visible) {
      this.#hiddenAt = Date.now();
      this.#hiddenTimer = setTimeout(() => this.#close(), HIDDEN_MS);
    } else if (!this.#stream) {
      this.start();
    } else if (Date.now() - this.#hiddenAt > 2_000) {
      void this.take();
    }
  }

  #open(after: number): Stream {
    return new Stream(after, {
      onevent: (event) => this.#hear(event),
      onopen: (again) => {
        this.connection = "live";
        if (again) void this.take();
      },
      onlost: (forGood) => this.#lost(forGood),
    });
  }

  #close(): void {
    this.#stream?.close();
    this.#stream = undefined;
    this.#gathered = [];
  }

  #lost(forGood: boolean): void {
    if (this.connection === "signed_out") return;
    this.connection = "reconnecting";
    if (forGood) {
      this.#close();
      this.#later();
    }
  }

  #later(): void {
    this.connection = "reconnecting";
    const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.start(), wait);
  }

  #hear(event: LiveEvent): void {
    if (event.type === "resync" || this.#gathered.length >= MOST_GATHERED) {
      this.#gathered = [];
      void this.take();
      return;
    }
    this.#gathered.push(event);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#taking || this.#gathered.length === 0) return;
    this.#isScheduled = true;
    const apply = () => {
      this.#isScheduled = false;
      this.#appliedAt = performance.now();
      if (!this.#taking) this.#apply();
    };
    const wait = this.#appliedAt + PAUSE_MS - performance.now();
    // A page out of sight is given no frames.
    if (document.hidden) setTimeout(apply, 500);
    else if (wait > 0) setTimeout(() => requestAnimationFrame(apply), wait);
    else requestAnimationFrame(apply);
  }

  #apply(): void {
    const events = this.#gathered;
    this.#gathered = [];
    const { live, wanted, gap } = reduce(this.live, events);
    this.#touch(events);
    this.live = live;
    for (const listener of this.#listeners) listener(events);
    if (gap) {
      void this.take();
      return;
    }
    this.#ask(wanted);
    this.#refill();
  }

  #touch(events: readonly LiveEvent[]): void {
    for (const { job, type, data } of events) {
      if (job === null || type === "job_progress" || type === "job_log") continue;
      this.#asking.touch(job, (data.state as JobState | undefined) ?? "queued");
      for (const { touched } of this.#whole.values()) touched.add(job);
    }
  }

  #ask(wanted: Wanted): void {
    this.#asking.want(wanted.jobs);
    if (wanted.queues) this.#refresh("queues", async () => {
      const { items } = await listQueues();
      return Object.fromEntries(items.map((queue) => [queue.name, queue]));
    });
    if (wanted.workers) this.#refresh("workers", async () => (await listWorkers()).items);
    if (wanted.schedules) this.#refresh("schedules", async () => (await listSchedules()).items);
  }

  #refreshing = new Map<keyof Live, boolean>();

  /** Read a record anew, once for all who ask while it is being read. */
  #refresh<K extends keyof Live>(what: K, read: () => Promise<Live[K]>): void {
    if (this.#refreshing.has(what)) {
      this.#refreshing.set(what, true);
      return;
    }
    this.#refreshing.set(what, false);
    read()
      .then((value) => (this.live = { ...this.live, [what]: value }))
      .catch(() => {}) // what cannot be read now comes with the next state
      .finally(() => {
        const again = this.#refreshing.get(what);
        this.#refreshing.delete(what);
        if (again) setTimeout(() => this.#refresh(what, read), 500);
      });
  }

  #learn(jobs: readonly Job[]): void {
    const draft = new Draft(this.live);
    for (const job of jobs) draft.put(briefOf(job));
    this.live = draft.done(this.live.seq);
  }

  /** Of a long line only the first are known; when most of them have left, get the next. */
  #refill(): void {
    for (const [queue, line] of Object.entries(this.live.waiting)) {
      if (line.isWhole || line.jobs.length >= REFILL_BELOW) continue;
      if (waitingIn(this.live.counts[queue] ?? {}) > line.jobs.length) {
        void this.take();
        return;
      }
    }
  }

  async #readWhole(queue: string): Promise<void> {
    const reading = { touched: new Set<string>(), stop: new AbortController() };
    this.#whole.set(queue, reading);
    try {
      for await (const part of readLine(queue, reading.stop.signal)) {
        // In a strict queue the pages are not in the order in which it is shown.
        const strict = this.live.queues[queue]?.settings.order === "strict";
        if (part.isLast || !strict)
          this.live = withLine(this.live, queue, part, reading.touched);
      }
      if (!this.live.waiting[queue]?.isWhole) this.#tooLong.add(queue);
    } catch {
      // Whoever scrolls on asks again.
    } finally {
      this.#whole.delete(queue);
    }
  }
}

export const feed = new Feed();

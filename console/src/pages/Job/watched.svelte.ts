// One job, updated by events while its page is open.

import { explain, readLog, showJob } from "../../api/calls";
import { type Problem, asProblem } from "../../api/problem";
import type { Explanation, Job, LiveEvent, LogLine } from "../../api/types";
import { feed } from "../../live/feed.svelte";
import { FINAL } from "../../live/order";
import { Stream } from "../../live/stream";
import { type Attempt, attemptsOf } from "./attempts";
import { type Lines, NO_LINES, append, begin } from "./log";

const EXPLAIN_MS = 5_000;
const PAST_EVENTS = 9_000; // the server replays at most 10,000
const QUIET_MS = 1_000;

export class Watched {
  job: Job | null = $state.raw(null);
  lines: Lines = $state.raw(NO_LINES);
  why: Explanation | null = $state.raw(null);
  problem: Problem | null = $state.raw(null);
  #events: readonly LiveEvent[] = $state.raw([]);
  attempts: readonly Attempt[] = $derived(this.job ? attemptsOf(this.#events, this.job) : []);

  /** The past events have been received, as many as the server still has. */
  isPastKnown = $state(false);

  readonly id: string;
  #receivedLines: LogLine[] | null = [];
  #isReading = false;
  #readAgain = false;
  #stops: (() => void)[] = [];

  constructor(id: string) {
    this.id = id;
  }

  /** Start to follow the job; returns the function that stops it. */
  start(): () => void {
    this.#stops.push(feed.listen((events) => this.#receive(events)));
    this.#replayPast();
    const timer = setInterval(() => void this.#explain(), EXPLAIN_MS);
    this.#stops.push(() => clearInterval(timer));
    return () => this.#stops.forEach((stop) => stop());
  }

  /** Read the job again, for example after a lost connection. */
  async read(): Promise<void> {
    if (this.#isReading) {
      this.#readAgain = true;
      return;
    }
    this.#isReading = true;
    try {
      this.job = await showJob(this.id);
      this.problem = null;
      await this.#explain();
    } catch (error) {
      const problem = asProblem(error);
      if (!problem.isPassing || this.job === null) this.problem = problem;
    } finally {
      this.#isReading = false;
    }
    if (this.#readAgain) {
      this.#readAgain = false;
      void this.read();
    }
  }

  async readLog(): Promise<void> {
    this.#receivedLines ??= [];
    try {
      const { items } = await readLog(this.id);
      this.lines = begin(items, this.#receivedLines);
      this.#receivedLines = null;
    } catch {
      // If the job is missing, the page already reports it.
    }
  }

  #receive(events: readonly LiveEvent[]): void {
    const mine = events.filter((event) => event.job === this.id);
    if (mine.length === 0) return;
    const lines = mine.filter((event) => event.type === "job_log").map(lineOf);
    if (this.#receivedLines) this.#receivedLines.push(...lines);
    else this.lines = append(this.lines, lines);
    this.#remember(mine);
    if (mine.some((event) => event.type !== "job_log" && event.type !== "job_progress"))
      void this.read();
    for (const event of mine) if (event.type === "job_progress") this.#progress(event);
  }

  #progress({ data, at }: LiveEvent): void {
    if (this.job?.state !== "running") return;
    const { progress, stages, statistics } = data as Partial<Job>;
    this.job = {
      ...this.job,
      updated_at: at,
      ...(progress ? { progress } : {}),
      ...(stages ? { stages } : {}),
      ...(statistics ? { statistics } : {}),
    };
  }

  #remember(events: readonly LiveEvent[]): void {
    const last = this.#events.at(-1)?.seq ?? 0;
    const added = events.filter((one) => one.type === "job_state_changed" && one.seq > last);
    if (added.length > 0) this.#events = [...this.#events, ...added].slice(-500);
  }

  async #explain(): Promise<void> {
    const state = this.job?.state;
    if (!state || FINAL.includes(state) || state === "running") {
      this.why = null;
      return;
    }
    this.why = await explain(this.id).catch(() => this.why);
  }

  /** Replay the past events of the job, as many as the server still has. */
  #replayPast(): void {
    const until = feed.live.seq;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const found: LiveEvent[] = [];
    const finish = (): void => {
      clearTimeout(timer);
      past.close();
      const known = new Set(this.#events.map((event) => event.seq));
      const all = [...this.#events, ...found.filter((event) => !known.has(event.seq))];
      this.#events = all.sort((a, b) => a.seq - b.seq);
      this.isPastKnown = true;
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(finish, QUIET_MS);
    };
    const past = new Stream(
      Math.max(0, until - PAST_EVENTS),
      {
        onevent: (event) => {
          if (event.type === "job_state_changed") found.push(event);
          // Events after the present state arrive on the page's main stream.
          if (event.seq > until || event.type === "resync" || found.length >= 500) finish();
          else wait();
        },
        onopen: wait,
        onlost: finish,
      },
      { job: this.id },
    );
    this.#stops.push(() => {
      clearTimeout(timer);
      past.close();
    });
  }
}

function lineOf({ data, at }: LiveEvent): LogLine {
  return {
    at: typeof data.at === "string" ? data.at : at,
    level: String(data.level ?? "info"),
    message: String(data.message ?? ""),
  };
}

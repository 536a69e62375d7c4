// The next state under construction. A part is copied at its first write, so a batch of progress
// events costs as much as there are running jobs, however many jobs wait.

import type { JobState } from "../api/types";
import type { Brief } from "./brief";
import { type Line, type Live, MOST_ENDED } from "./live";
import { isFinal, placeIn } from "./order";

interface OpenLine {
  jobs: Brief[];
  byId: Map<string, Brief>;
  isWhole: boolean;
}

export class Draft {
  #live: Live;
  #running: Map<string, Brief> | undefined;
  #ended: Brief[] | undefined;
  #lines = new Map<string, OpenLine>();
  #counts = new Map<string, Record<string, number>>();

  constructor(live: Live) {
    this.#live = live;
  }

  find(id: string, queue: string | null): Brief | undefined {
    const running = (this.#running ?? this.#live.running).get(id);
    if (running) return running;
    const line = queue === null ? undefined : this.#line(queue);
    return line?.byId.get(id) ?? (this.#ended ?? this.#live.ended).find((job) => job.id === id);
  }

  /** Place a job by its state and remove its previous place. */
  put(job: Brief): void {
    this.remove(job.id, job.queue);
    if (job.state === "running") this.#openRunning().set(job.id, job);
    else if (isFinal(job.state)) this.#end(job);
    else this.#lineUp(job);
  }

  remove(id: string, queue: string): void {
    if ((this.#running ?? this.#live.running).has(id)) this.#openRunning().delete(id);
    const waiting = this.#line(queue)?.byId.get(id);
    if (waiting) {
      const line = this.#openLine(queue);
      const place = placeIn(line.jobs, waiting, this.#isStrict(queue));
      const found = line.jobs[place]?.id === id ? place : line.jobs.findIndex((j) => j.id === id);
      line.jobs.splice(found, 1);
      line.byId.delete(id);
    }
    const ended = (this.#ended ?? this.#live.ended).findIndex((job) => job.id === id);
    if (ended >= 0) this.#openEnded().splice(ended, 1);
  }

  /** Replace a running job by a newer version. */
  replaceRunning(job: Brief): void {
    this.#openRunning().set(job.id, job);
  }

  count(queue: string, from: JobState, to: JobState): void {
    let counts = this.#counts.get(queue);
    if (!counts) {
      counts = { ...this.#live.counts[queue] };
      this.#counts.set(queue, counts);
    }
    // The server counts no job before its admission or after its end.
    if (from !== "created" && !isFinal(from)) counts[from] = Math.max(0, (counts[from] ?? 0) - 1);
    if (!isFinal(to)) counts[to] = (counts[to] ?? 0) + 1;
  }

  setPaused(queue: string, paused: Live["queues"][string]["paused"]): void {
    const known = this.#live.queues[queue];
    if (!known || known.paused === paused) return;
    const queues = { ...this.#live.queues, [queue]: { ...known, paused } };
    this.#live = { ...this.#live, queues };
  }

  done(seq: number): Live {
    const live = this.#live;
    const waiting =
      this.#lines.size === 0 ? live.waiting : { ...live.waiting, ...Object.fromEntries(this.#lines) };
    const counts =
      this.#counts.size === 0 ? live.counts : { ...live.counts, ...Object.fromEntries(this.#counts) };
    const running = this.#running ?? live.running;
    return { ...live, seq, counts, running, waiting, ended: this.#ended ?? live.ended };
  }

  #end(job: Brief): void {
    const ended = this.#openEnded();
    // Nearly always the newest; a late response may bring a job that ended earlier.
    const at = job.ended_at ?? "";
    let place = 0;
    while (place < ended.length && (ended[place]?.ended_at ?? "") > at) place += 1;
    ended.splice(place, 0, job);
    ended.length = Math.min(ended.length, MOST_ENDED);
  }

  #lineUp(job: Brief): void {
    const known = this.#line(job.queue);
    const strict = this.#isStrict(job.queue);
    const place = known ? placeIn(known.jobs, job, strict) : 0;
    // Behind the loaded part of a longer line are unknown jobs.
    if (known && !known.isWhole && place === known.jobs.length) return;
    const line = this.#openLine(job.queue);
    line.jobs.splice(place, 0, job);
    line.byId.set(job.id, job);
  }

  #isStrict(queue: string): boolean {
    return this.#live.queues[queue]?.settings.order === "strict";
  }

  #line(queue: string): Line | undefined {
    return this.#lines.get(queue) ?? this.#live.waiting[queue];
  }

  #openLine(queue: string): OpenLine {
    let line = this.#lines.get(queue);
    if (!line) {
      const known = this.#live.waiting[queue];
      line = {
        jobs: known ? [...known.jobs] : [],
        byId: new Map(known?.byId),
        isWhole: known?.isWhole ?? true,
      };
      this.#lines.set(queue, line);
    }
    return line;
  }

  #openRunning(): Map<string, Brief> {
    return (this.#running ??= new Map(this.#live.running));
  }

  #openEnded(): Brief[] {
    return (this.#ended ??= [...this.#live.ended]);
  }
}

// The running jobs of each worker.

import type { Worker } from "../../api/types";
import type { Brief } from "../../live/brief";

export interface Load {
  readonly worker: Worker;
  readonly jobs: readonly Brief[];
}

/** Group the running jobs by worker. A job holds the display name of its worker. */
export function loadsOf(workers: readonly Worker[], running: Iterable<Brief>): Load[] {
  const loads = workers.map((worker) => ({ worker, jobs: [] as Brief[] }));
  const named = new Map(loads.map((load) => [load.worker.name, load]));
  for (const load of loads) named.set(load.worker.id, load);
  for (const job of running) named.get(job.device ?? job.worker ?? "")?.jobs.push(job);
  return loads.sort((a, b) => compare(a.worker, b.worker));
}

function compare(a: Worker, b: Worker): number {
  return a.host.localeCompare(b.host) || a.name.localeCompare(b.name) || a.pid - b.pid;
}

export function matcher(text: string): (worker: Worker) => boolean {
  const wanted = text.trim().toLowerCase();
  return ({ name, host, pid, labels, tasks, queues }) =>
    [name, host, String(pid), ...labels, ...(tasks ?? []), ...(queues ?? [])].some((one) =>
      one.toLowerCase().includes(wanted),
    );
}

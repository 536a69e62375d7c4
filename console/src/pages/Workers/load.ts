// The running jobs of each worker, and the stored devices.

import type { Device, Worker } from "../../api/types";
import type { Brief } from "../../live/brief";

export interface Load {
  readonly worker: Worker;
  readonly jobs: readonly Brief[];
  /** The stored device, if the worker is one. */
  readonly device?: Device;
}

/** Group the running jobs by worker. A job holds the display name of its worker.
 *
 * A stored device that no process drives is a worker without slots. */
export function loadsOf(
  workers: readonly Worker[],
  running: Iterable<Brief>,
  devices: readonly Device[] = [],
): Load[] {
  const stored = new Map(devices.map((device) => [device.name, device]));
  const driven = new Set(workers.filter(({ device }) => device).map(({ name }) => name));
  const undriven = devices.filter(({ name }) => !driven.has(name)).map(undrivenWorker);
  const loads = [...workers, ...undriven].map((worker) => {
    const device = worker.device ? stored.get(worker.name) : undefined;
    return { worker, jobs: [] as Brief[], ...(device && { device }) };
  });
  const named = new Map(loads.map((load) => [load.worker.name, load]));
  for (const load of loads) named.set(load.worker.id, load);
  for (const job of running) named.get(job.device ?? job.worker ?? "")?.jobs.push(job);
  return loads.sort((a, b) => compare(a.worker, b.worker));
}

function undrivenWorker({ name, queue, labels }: Device): Worker {
  return {
    id: `device ${name}`, name, slots: 0, tasks: [], queues: [queue], labels, device: true,
    accepting: false, host: "", pid: 0, note: "", seen_at: null,
  };
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

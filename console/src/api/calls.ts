// One function for each HTTP request of the console; lanes.ts, schedules.ts and files.ts hold the
// rest.

import { path, request } from "./client";
import type {
  BatchAnswer,
  Device,
  Devices,
  Explanation,
  Forecast,
  Job,
  JobPage,
  JobState,
  Log,
  Place,
  Present,
  Priority,
  Queue,
  Queues,
  Schedules,
  Session,
  Stopping,
  Submission,
  Tasks,
  Workers,
} from "./types";

const post = <T>(where: string, body?: unknown) => request<T>(where, { method: "POST", body });

const STATE_MS = 30_000;
/**
 * Read the state. It has a timeout: a request whose answer is lost would block the feed forever.
 */
export const readState = () =>
  request<Present>("/api/state", { signal: AbortSignal.timeout(STATE_MS) });

// sessions
export const readSession = () => request<Session>("/api/session");
export const signIn = (token: string) => post<Session>("/api/session", { token });
export const signOut = () => request<void>("/api/session", { method: "DELETE" });

// jobs
export interface JobFilter {
  state?: readonly JobState[];
  queue?: string | undefined;
  task?: string | undefined;
  lane?: string | undefined;
  q?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  limit?: number;
  cursor?: string | undefined;
}
export const listJobs = (filter: JobFilter, signal?: AbortSignal) =>
  request<JobPage>("/api/jobs", { query: { ...filter }, ...(signal ? { signal } : {}) });
/** List the waiting jobs of a queue in the order of the queue. */
export const listLine = (
  queue: string,
  query: { limit: number; cursor?: string | undefined },
  signal: AbortSignal,
) => request<JobPage>(path`/api/queues/${queue}/line`, { query, signal });
export const showJob = (id: string) => request<Job>(path`/api/jobs/${id}`);
export const readLog = (id: string, limit = 1000) =>
  request<Log>(path`/api/jobs/${id}/log`, { query: { limit } });
export const explain = (id: string) => request<Explanation>(path`/api/jobs/${id}/explain`);
export const submit = (job: Submission) => post<Job>("/api/jobs", job);
export const submitMany = (jobs: readonly Submission[]) =>
  post<BatchAnswer>("/api/jobs/batch", { jobs });
export const cancel = (id: string, how: Stopping) => post<Job>(path`/api/jobs/${id}/cancel`, how);
export const retry = (id: string, place: "head" | "tail") =>
  post<Job>(path`/api/jobs/${id}/retry`, { place });
export const rerun = (id: string) => post<Job>(path`/api/jobs/${id}/rerun`);
export const move = (id: string, to: Place) => post<Job>(path`/api/jobs/${id}/move`, to);
export const prioritize = (id: string, priority: Priority) =>
  post<Job>(path`/api/jobs/${id}/priority`, { priority });
export const skip = (id: string) => post<Job>(path`/api/jobs/${id}/skip`);

// queues
export const listQueues = () => request<Queues>("/api/queues");
export const changeQueue = (name: string, changes: { max_concurrent?: number | null }) =>
  request<Queue>(path`/api/queues/${name}`, { method: "PATCH", body: changes });
export const pause = (name: string) => post<Queue>(path`/api/queues/${name}/pause`);
export const resume = (name: string) => post<Queue>(path`/api/queues/${name}/resume`);
export const stopAfterCurrent = (name: string) =>
  post<Queue>(path`/api/queues/${name}/stop-after-current`);

// the rest
export const listTasks = (signal?: AbortSignal) =>
  request<Tasks>("/api/tasks", signal ? { signal } : {});
export const listWorkers = () => request<Workers>("/api/workers");
export const listDevices = () => request<Devices>("/api/devices");
export const pauseDevice = (name: string, paused: boolean) =>
  request<Device>(path`/api/devices/${name}`, { method: "PATCH", body: { paused } });
export const listSchedules = () => request<Schedules>("/api/schedules");
export const forecast = (query: { queue?: string; max_concurrent?: number; limit?: number }) =>
  request<Forecast>("/api/forecast", { query });

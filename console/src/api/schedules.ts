// Requests about schedules.

import { path, request } from "./client";
import type { Firings, Job, Schedule } from "./types";
import type { components } from "./schema";

export type NewSchedule = components["schemas"]["NewSchedule"];
export type ScheduleChanges = components["schemas"]["ScheduleChanges"];

const at = (name: string) => path`/api/schedules/${name}`;

export const saveSchedule = (schedule: NewSchedule) =>
  request<Schedule>("/api/schedules", { method: "POST", body: schedule });
export const changeSchedule = (name: string, changes: ScheduleChanges) =>
  request<Schedule>(at(name), { method: "PATCH", body: changes });
export const deleteSchedule = (name: string) => request<void>(at(name), { method: "DELETE" });
export const fireSchedule = (name: string) =>
  request<Job>(`${at(name)}/fire`, { method: "POST" });
export const listFirings = (name: string, limit: number) =>
  request<Firings>(`${at(name)}/firings`, { query: { limit } });

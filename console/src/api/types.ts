// Short names for the response types that schema.d.ts generates.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Job = Schemas["Job"];
export type JobState = Job["state"];
export type Priority = Job["priority"];
export type Stage = Schemas["Stage"];
export type Reason = Schemas["Reason"];
export type Failure = Schemas["Failure"];
export type Artifact = Schemas["Artifact"];
export type JobPage = Schemas["JobPage"];
export type Uploaded = Schemas["Uploaded"];
export type Submission = Schemas["Submission"];
export type BatchAnswer = Schemas["BatchAnswer"];
export type LogLine = Schemas["LogLine"];
export type Log = Schemas["Log"];
export type Explanation = Schemas["Explanation"];
export type Queue = Schemas["Queue"];
export type Queues = Schemas["Queues"];
export type Lane = Schemas["Lane"];
export type LanePage = Schemas["LanePage"];
export type Limit = Schemas["RateOrResource"];
export type Limits = Schemas["Limits"];
export type Worker = Schemas["Worker"];
export type Workers = Schemas["Workers"];
export type Device = Schemas["Device"];
export type Devices = Schemas["Devices"];
export type Task = Schemas["Task"];
export type Tasks = Schemas["Tasks"];
export type Forecast = Schemas["Forecast"];
export type Schedule = Schemas["Schedule"];
export type Schedules = Schemas["Schedules"];
export type Firing = Schemas["Firing"];
export type Firings = Schemas["Firings"];
export type Session = Schemas["Session"];
export type Present = Schemas["Snapshot"];

/** The target position of a waiting job. */
export type Place = { to: "head" | "tail" } | { before: string } | { after: string };

/** The options of a cancellation. */
export interface Stopping {
  outputs: "keep" | "delete";
  force: boolean;
}

/** One event of the stream; `data` depends on its type (docs/events.md). */
export interface LiveEvent {
  seq: number;
  prev: number;
  type: string;
  at: string;
  job: string | null;
  queue: string | null;
  data: Record<string, unknown>;
}

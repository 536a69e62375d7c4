// What is asked of the server about lanes. A lane may be a path, so it is a parameter.

import { path, request } from "./client";
import type { Job, Lane, LanePage } from "./types";

export type LaneCall = NonNullable<Lane["params"]>;

/** A lane by its queue and its name. */
export interface Address {
  readonly queue: string;
  readonly lane: string;
}

export const listLanes = (query: {
  queue?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}) => request<LanePage>("/api/lanes", { query });

// An empty name is a name too, and has to be sent.
const at = ({ queue, lane }: Address, verb = "") =>
  `${path`/api/lanes/${queue}`}${verb}?lane=${encodeURIComponent(lane)}`;

export const saveLane = (lane: Address, call: LaneCall) =>
  request<Lane>(at(lane), { method: "PUT", body: call });
export const forgetLane = (lane: Address) => request<Lane>(at(lane), { method: "DELETE" });
export const startLane = (lane: Address) => request<Job>(at(lane, "/start"), { method: "POST" });
export const continueLane = (lane: Address) =>
  request<Job>(at(lane, "/continue"), { method: "POST" });

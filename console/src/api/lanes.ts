// Requests about lanes. The name of a lane may be a path, so it is sent as a query parameter.

import { path, request } from "./client";
import type { Job, Lane, LanePage } from "./types";

export type LaneCall = NonNullable<Lane["params"]>;

/** The address of a lane: its queue and its name. */
export interface Address {
  readonly queue: string;
  readonly lane: string;
}

export const listLanes = (query: {
  queue?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}) => request<LanePage>("/api/lanes", { query });

// An empty string is a valid name of a lane and must be sent.
const at = ({ queue, lane }: Address, verb = "") =>
  `${path`/api/lanes/${queue}`}${verb}?lane=${encodeURIComponent(lane)}`;

export const saveLane = (lane: Address, call: LaneCall) =>
  request<Lane>(at(lane), { method: "PUT", body: call });
export const forgetLane = (lane: Address) => request<Lane>(at(lane), { method: "DELETE" });
export const startLane = (lane: Address) => request<Job>(at(lane, "/start"), { method: "POST" });
export const continueLane = (lane: Address) =>
  request<Job>(at(lane, "/continue"), { method: "POST" });

// The pages, by the first part of the path. Insights needs a plotting library, so it is loaded at
// its first visit; so are rarely opened pages.

import type { Component } from "svelte";
import Queue from "../pages/Queue/Queue.svelte";
import type { Icon } from "../parts/icons";
import type { Word } from "../words/index.svelte";

export interface Page {
  readonly path: string;
  readonly word: Word;
  readonly icon: Icon;
  /** After `g`. */
  readonly key: string;
  /** The page depends on the selected queue, which stays selected on navigation. */
  readonly ofQueue: boolean;
}

export const PAGES: readonly Page[] = [
  { path: "queue", word: "nav.queue", icon: "queue", key: "q", ofQueue: true },
  { path: "lanes", word: "nav.lanes", icon: "lanes", key: "l", ofQueue: true },
  { path: "schedules", word: "nav.schedules", icon: "clock", key: "s", ofQueue: false },
  { path: "workers", word: "nav.workers", icon: "workers", key: "w", ofQueue: false },
  { path: "history", word: "nav.history", icon: "history", key: "h", ofQueue: true },
  { path: "insights", word: "nav.insights", icon: "insights", key: "i", ofQueue: true },
];

type Loaded = { default: Component };

const LATER: Record<string, () => Promise<Loaded>> = {
  lanes: () => import("../pages/Lanes/Lanes.svelte"),
  schedules: () => import("../pages/Schedules/Schedules.svelte"),
  workers: () => import("../pages/Workers/Workers.svelte"),
  history: () => import("../pages/History/History.svelte"),
  insights: () => import("../pages/Insights/Insights.svelte"),
  jobs: () => import("../pages/Job/Job.svelte"),
  new: () => import("../pages/NewJob/NewJob.svelte"),
};

/** Return the component of a page, at once if it is loaded; null if the page is unknown. */
export function pageOf(path: string): Component | Promise<Loaded> | null {
  if (path === "" || path === "queue") return Queue;
  return LATER[path]?.() ?? null;
}

import type { Brief } from "../live/brief";
import { figuresText } from "./figures";

/** Say of a job that has ended why it did, or else what it counted and what was chosen for it. */
export function saidOf(job: Brief, write: (value: number) => string): string {
  const why = job.error?.message ?? job.waiting_for[0]?.message;
  return why ?? [figuresText(job, write), job.summary].filter(Boolean).join(" · ");
}

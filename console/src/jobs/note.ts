import type { Brief } from "../live/brief";
import { figuresText } from "./figures";

/** Return the one-line note of an ended job: its error, or its statistics and parameters. */
export function noteOf(job: Brief, write: (value: number) => string): string {
  const why = job.error?.message ?? job.waiting_for[0]?.message;
  return why ?? [figuresText(job, write), job.summary].filter(Boolean).join(" · ");
}

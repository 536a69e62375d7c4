import type { Brief } from "../live/brief";
import { figuresText } from "./figures";
import { toldReason, type Translate } from "./told";

/** Return the one-line note of an ended job: its error, or its statistics and parameters. */
export function noteOf(job: Brief, write: (value: number) => string, t: Translate): string {
  const reason = job.waiting_for[0];
  const why = job.error?.message ?? (reason && toldReason(reason, t));
  return why ?? [figuresText(job, write), job.summary].filter(Boolean).join(" · ");
}

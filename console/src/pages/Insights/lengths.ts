// Formats durations that may be short.

import { span } from "../../time/format";

const unit = (): string => span(0).replace("0", "");

/** Format a duration, below ten seconds with a tenth: 0s, 0.3s, 2.5s, 40s, 3m 20s. */
export function lengthText(milliseconds: number | null): string {
  if (milliseconds === null) return "–";
  if (milliseconds >= 9_950) return span(milliseconds);
  return milliseconds < 50 ? span(0) : `${(milliseconds / 1000).toFixed(1)}${unit()}`;
}

/** Format the edge of a bucket, which is a round number. */
export function edgeText(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return "∞";
  if (milliseconds < 1_000) return `${milliseconds / 1000}${unit()}`;
  return span(milliseconds).replace(/ 0+\D+$/, "");
}

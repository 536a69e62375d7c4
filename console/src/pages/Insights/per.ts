import { t } from "../../words/index.svelte";

const UNITS = [["day", 1440], ["hour", 60], ["minute", 1]] as const;

/** Describe the width of buckets: "per hour", "per 2 days". */
export function perText(width: number): string {
  for (const [unit, minutes] of UNITS) {
    const n = width / (minutes * 60_000);
    if (n >= 1) return n === 1 ? t(`insights.per.${unit}`) : t(`insights.per.${unit}s`, { n });
  }
  return "";
}

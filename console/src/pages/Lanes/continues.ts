import { summaryOf } from "../../live/summary";
import { t } from "../../words/index.svelte";

/** Describe the point from which a lane continues; some checkpoints have no short description. */
export function continues(checkpoint: Readonly<Record<string, unknown>>): string {
  const where = summaryOf(checkpoint);
  return where ? t("lanes.continues", { checkpoint: where }) : t("lanes.continues.somewhere");
}

import { summaryOf } from "../../live/summary";
import { t } from "../../words/index.svelte";

/** Say from where a lane continues; a checkpoint may hold nothing that can be told in a line. */
export function continues(checkpoint: Readonly<Record<string, unknown>>): string {
  const where = summaryOf(checkpoint);
  return where ? t("lanes.continues", { checkpoint: where }) : t("lanes.continues.somewhere");
}

// The message of a reason, in the language of the page. The server sends it in English, with the
// numbers and names in `facts`.

import type { Reason } from "../api/types";
import { sizeText } from "../words/size";
import type { Word } from "../words/index.svelte";

interface Told {
  readonly code: string;
  readonly message: string;
  readonly facts?: Reason["facts"] | undefined;
}
export type Translate = (word: Word, facts?: Record<string, string>) => string;

export function toldReason({ code, message, facts = {} }: Told, t: Translate): string {
  const needed = Number(facts.needed_bytes);
  const free = Number(facts.free_bytes);
  const path = String(facts.path ?? "");
  switch (code) {
    case "disk_space":
      if (facts.folder === undefined) return message;
      return t("why.disk_space.told", {
        folder: String(facts.folder),
        needed: sizeText(needed),
        free: sizeText(free),
        missing: sizeText(needed - free),
      });
    case "output_exists":
      return path ? t("why.output_exists.told", { path }) : message;
    case "output_busy":
      if (!path) return message;
      return facts.job
        ? t("why.output_busy.job", { path, job: String(facts.job) })
        : t("why.output_busy.told", { path });
    default:
      return message;
  }
}

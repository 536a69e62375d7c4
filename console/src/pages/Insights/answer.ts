// What a forecast says, in a sentence, and no more than it knows.

import { clock } from "../../time/clock.svelte";
import { clockTime, roughSpan } from "../../time/format";
import { number, t, words } from "../../words/index.svelte";
import type { Foreseen } from "./whatif.svelte";

export interface Answer {
  readonly sentence: string;
  readonly difference: string;
  readonly isBetter: boolean;
  readonly note: string;
}

const SAME_MS = 1_000;

export function answerTo(present: Foreseen, other: Foreseen | null, limit: number | null): Answer {
  const plain = (sentence: string): Answer => ({ sentence, difference: "", isBetter: false, note: "" });
  if (present.waiting === 0) return plain(t("whatif.none"));
  if (present.starts.length === 0) return plain(t("whatif.unknown"));
  const isWhole = present.emptyAt !== null && (!other || other.emptyAt !== null);
  const before = isWhole ? present.emptyAt! : present.starts.at(-1)!;
  const after = other && (isWhole ? other.emptyAt! : (other.starts.at(-1) ?? before));
  const kind = isWhole ? "whatif" : "whatif.starts";
  const unknown = present.waiting - present.starts.length;
  const note = isWhole || unknown <= 0 ? "" : t("whatif.part", { n: number(unknown), total: number(present.waiting) });
  if (after === null || limit === null)
    return { ...plain(t(`${kind}.present`, { time: time(before) })), note };
  const gained = before - after;
  if (Math.abs(gained) < SAME_MS)
    return { ...plain(t(`${kind}.same`, { n: limit, time: time(after) })), note };
  return {
    sentence: t(`${kind}.answer`, { n: limit, time: time(after), before: time(before) }),
    difference: t(gained > 0 ? "whatif.sooner" : "whatif.later", { span: roughSpan(Math.abs(gained)) }),
    isBetter: gained > 0,
    note,
  };
}

// Within the next few minutes a time without its seconds would not tell the two apart.
const SOON_MS = 10 * 60_000;

function time(at: number): string {
  const text = clockTime(at, clock.now, words.locale);
  if (Math.abs(at - clock.now) > SOON_MS) return text;
  return `${text}:${String(new Date(at).getSeconds()).padStart(2, "0")}`;
}

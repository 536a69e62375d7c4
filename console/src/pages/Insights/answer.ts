// A forecast as a sentence.

import { clock } from "../../time/clock.svelte";
import { clockTime, roughSpan } from "../../time/format";
import { number, t, words } from "../../words/index.svelte";
import { compare, type Foreseen } from "./comparison";

export interface Answer {
  readonly sentence: string;
  readonly difference: string;
  readonly isBetter: boolean;
  readonly note: string;
}

const SAME_MS = 1_000;

export function answerTo(present: Foreseen, other: Foreseen | null, limit: number | null): Answer {
  const found = compare(present, limit === null ? null : other);
  const plain = (sentence: string): Answer => ({ sentence, difference: "", isBetter: false, note: "" });
  if (found.kind === "none" || found.kind === "unknown") return plain(t(`whatif.${found.kind}`));
  const { before, after, unknown } = found;
  const kind = found.kind === "empty" ? "whatif" : "whatif.starts";
  const facts = { n: number(unknown), total: number(present.waiting) };
  const note = unknown > 0 ? t("whatif.part", facts) : "";
  if (after === null || limit === null)
    return { ...plain(t(`${kind}.present`, { time: time(before) })), note };
  const gained = before - after;
  if (Math.abs(gained) < SAME_MS)
    return { ...plain(t(`${kind}.same`, { n: limit, time: time(after) })), note };
  const span = roughSpan(Math.abs(gained));
  return {
    sentence: t(`${kind}.answer`, { n: limit, time: time(after), before: time(before) }),
    difference: t(gained > 0 ? "whatif.sooner" : "whatif.later", { span }),
    isBetter: gained > 0,
    note,
  };
}

// Within the next few minutes, times without seconds could look equal.
const SOON_MS = 10 * 60_000;

function time(at: number): string {
  const text = clockTime(at, clock.now, words.locale);
  if (Math.abs(at - clock.now) > SOON_MS) return text;
  return `${text}:${String(new Date(at).getSeconds()).padStart(2, "0")}`;
}

// Compares two forecasts as far as both are known.

import type { Forecast } from "../../api/types";

export interface Foreseen {
  readonly waiting: number;
  /** The known starts, in order. */
  readonly starts: readonly number[];
  readonly emptyAt: number | null;
}

export function foreseen({ items, waiting, empty_at }: Forecast): Foreseen {
  const starts = items.flatMap(({ starts_at }) => (starts_at === null ? [] : [Date.parse(starts_at)]));
  return { waiting, starts, emptyAt: empty_at === null ? null : Date.parse(empty_at) };
}

export type Comparison =
  | { readonly kind: "none" }
  | { readonly kind: "unknown" }
  | {
      /** The time when the queue is empty; if that is unknown, the start of the last known job. */
      readonly kind: "empty" | "starts";
      readonly before: number;
      readonly after: number | null;
      /** The number of jobs without a forecast. */
      readonly unknown: number;
    };

export function compare(present: Foreseen, other: Foreseen | null): Comparison {
  if (present.waiting === 0) return { kind: "none" };
  const unknown = Math.max(0, present.waiting - present.starts.length);
  const isWhole = present.emptyAt !== null && (other === null || other.emptyAt !== null);
  if (isWhole)
    return { kind: "empty", before: present.emptyAt, after: other?.emptyAt ?? null, unknown: 0 };
  const before = present.starts.at(-1);
  if (before === undefined) return { kind: "unknown" };
  return { kind: "starts", before, after: other?.starts.at(-1) ?? null, unknown };
}

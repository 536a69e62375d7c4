// What is to be done with files: the parameters of a task besides the file.

import { initial, readAll, type Read, shown } from "../forms/reading";
import type { FormField } from "../forms/schema";

export type Params = Readonly<Record<string, unknown>>;

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/**
 * Return what was chosen: whatever follows the task by itself is left out. They are compared as the
 * form shows them, because a usual value may read as another one: its order, its zone, nothing.
 */
export function unusual(fields: readonly FormField[], { params }: Pick<Read, "params">): Params {
  const chosen = fields.filter(
    (field) => field.name in params && shown(field, params[field.name]) !== shown(field, field.usual),
  );
  return Object.fromEntries(chosen.map(({ name }) => [name, params[name]]));
}

/**
 * Return what is left of a choice that was kept: what the form shows and reads as it was. The
 * program may have changed since, and nobody sees a choice that it does not have any more.
 */
export function fitting(fields: readonly FormField[], kept: unknown): Params {
  if (typeof kept !== "object" || kept === null) return {};
  const found = fields.filter(({ name }) => name in kept).map((field) => {
    const value = (kept as Params)[field.name];
    try {
      const form = readAll([field], initial([field], { [field.name]: value }));
      return isSame(form.params[field.name], value) ? unusual([field], form) : {};
    } catch {
      return {}; // such as a list that is none
    }
  });
  return Object.assign({}, ...found) as Params;
}

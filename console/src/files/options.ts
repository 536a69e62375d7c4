// The options of a file job: the parameters of its task without the file parameter.

import { initial, readAll, type Read, textOf } from "../forms/values";
import type { FormField } from "../forms/schema";

export type Params = Readonly<Record<string, unknown>>;

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/**
 * Return only the options that differ from the defaults of the task. The comparison uses the texts
 * of the form, because a default may be equal to a value that is written differently (order of
 * keys, time zone, null).
 */
export function unusual(fields: readonly FormField[], { params }: Pick<Read, "params">): Params {
  const chosen = fields.filter(
    (field) => field.name in params && textOf(field, params[field.name]) !== textOf(field, field.default_),
  );
  return Object.fromEntries(chosen.map(({ name }) => [name, params[name]]));
}

/**
 * Return the stored options that the form still has and reads unchanged. The program may have
 * changed since, and a removed option would be sent without being visible.
 */
export function fitting(fields: readonly FormField[], kept: unknown): Params {
  if (typeof kept !== "object" || kept === null) return {};
  const found = fields.filter(({ name }) => name in kept).map((field) => {
    const value = (kept as Params)[field.name];
    try {
      const form = readAll([field], initial([field], { [field.name]: value }));
      return isSame(form.params[field.name], value) ? unusual([field], form) : {};
    } catch {
      return {}; // for example a list field whose stored value is no list
    }
  });
  return Object.assign({}, ...found) as Params;
}

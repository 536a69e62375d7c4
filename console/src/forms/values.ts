// Converts between the text of a field and a JSON value. Every field holds text.

import type { FormField, Kind } from "./schema";

/** A parse error, as the name of the word that describes it. */
export class Unreadable extends Error {
  readonly word: "new.bad_json" | "new.bad_number";

  constructor(word: Unreadable["word"], message = "") {
    super(message);
    this.word = word;
  }
}

/** Return the text of a field for a value. */
export function textOf(field: FormField, value: unknown): string {
  if (value === null || value === undefined) return "";
  switch (field.kind) {
    case "secret":
      return "";
    case "choice":
      return String(field.choices.findIndex((one) => one === value));
    case "choices":
      return placesOf(field, value).join("\n");
    case "list":
      return (value as readonly unknown[]).map(String).join("\n");
    case "json":
      return JSON.stringify(value, null, 2);
    case "instant":
      return localInstant(String(value));
    default:
      return String(value);
  }
}

/** Return the indexes of list values among the choices, in order. */
function placesOf(field: FormField, value: unknown): number[] {
  const values = Array.isArray(value) ? value : [];
  return field.choices.flatMap((choice, place) => (values.includes(choice) ? [place] : []));
}

/**
 * Return the initial texts of a form: the given values, or the defaults. A given null counts as a
 * value.
 */
export function initial(
  fields: readonly FormField[],
  given: Readonly<Record<string, unknown>> = {},
): Record<string, string> {
  return Object.fromEntries(
    fields.map((field) => {
      const value = given[field.name];
      return [field.name, textOf(field, value === undefined ? field.default_ : value)];
    }),
  );
}

/** Parse a field; undefined means that the parameter is omitted and its default holds. */
export function read(field: FormField, text: string): unknown {
  if (text.trim() === "") return nothing(field, text);
  if (field.kind === "list") {
    const lines = text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    return lines.map((line) => scalar(field.items, line));
  }
  if (field.kind === "choices") return text.split("\n").map((place) => field.choices[Number(place)]);
  if (field.kind === "choice") return field.choices[Number(text)];
  return scalar(field.kind, text);
}

function nothing(field: FormField, text: string): unknown {
  const usual = field.default_;
  if (field.isNullable && usual !== null && usual !== undefined) return null;
  // An emptied field that has a default means an empty value.
  if ((field.kind === "text" || field.kind === "file") && typeof usual === "string" && usual !== "") return text;
  const isList = field.kind === "list" || field.kind === "choices";
  if (isList && Array.isArray(usual) && usual.length > 0) return [];
  return undefined;
}

function scalar(kind: Kind, text: string): unknown {
  switch (kind) {
    case "integer":
    case "number": {
      const value = Number(text);
      if (Number.isNaN(value)) throw new Unreadable("new.bad_number");
      return value;
    }
    case "boolean":
      return text === "true";
    case "instant":
      return new Date(text).toISOString();
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new Unreadable("new.bad_json", error instanceof Error ? error.message : "");
      }
    default:
      return text;
  }
}

/** Return an instant in the format of a datetime-local field: local time without a zone. */
export function localInstant(instant: string): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return "";
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

export interface Read {
  readonly params: Record<string, unknown>;
  /** The parse error of each field. */
  readonly problems: Record<string, Unreadable>;
}

/** Parse all fields of a form. */
export function readAll(fields: readonly FormField[], values: Readonly<Record<string, string>>): Read {
  const params: Record<string, unknown> = {};
  const problems: Record<string, Unreadable> = {};
  for (const field of fields) {
    try {
      const value = read(field, values[field.name] ?? "");
      if (value !== undefined) params[field.name] = value;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      problems[field.name] = error;
    }
  }
  return { params, problems };
}

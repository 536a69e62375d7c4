// Several jobs from pasted lines: each line is the value of one parameter, or a JSON object with
// all parameters, the format that the command line reads too.

import type { FormField } from "../../forms/schema";
import { Unreadable, read } from "../../forms/values";

export interface LineProblem {
  /** From 1. */
  readonly line: number;
  readonly word: "new.bad_json" | "new.bad_json_object" | "new.bad_number";
  readonly message: string;
}

export interface FromLines {
  readonly params: readonly Record<string, unknown>[];
  readonly problems: readonly LineProblem[];
}

/** The parameters that a line can hold. */
export function lineFields(fields: readonly FormField[]): FormField[] {
  const kinds = ["text", "file", "integer", "number", "secret"];
  return fields.filter((field) => kinds.includes(field.kind));
}

export const countLines = (text: string): number =>
  text.split("\n").filter((line) => line.trim() !== "").length;

/**
 * Parse lines. A line that begins with a brace is the parameters of a job; any other is the value
 * of `field`, if there is one. `common` holds the parameters that all jobs share.
 */
export function fromLines(
  text: string,
  field: FormField | null,
  common: Readonly<Record<string, unknown>>,
): FromLines {
  const params: Record<string, unknown>[] = [];
  const problems: LineProblem[] = [];
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      const isValue = field !== null && !line.trimStart().startsWith("{");
      const own = isValue ? { [field.name]: read(field, line.trim()) } : objectIn(line);
      params.push({ ...common, ...own });
    } catch (error) {
      const word = error instanceof Unreadable ? error.word : "new.bad_json_object";
      const message = error instanceof Error ? error.message : "";
      problems.push({ line: index + 1, word, message });
    }
  });
  return { params, problems };
}

function objectIn(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Unreadable("new.bad_json", error instanceof Error ? error.message : "");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("not an object");
  return value as Record<string, unknown>;
}

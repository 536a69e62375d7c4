// Assigns the problems in a response to the fields of a form.

import type { FieldProblem } from "../api/problem";

export interface Sorted {
  /** By name of the parameter. */
  readonly fields: Readonly<Record<string, string>>;
  /** The problems that belong to no field of the form. */
  readonly rest: readonly string[];
}

/** Assign problems to fields by their location: "handle", "tags.0" or "body.params.handle". */
export function sortProblems(problems: readonly FieldProblem[], names: readonly string[]): Sorted {
  const fields: Record<string, string> = {};
  const rest: string[] = [];
  for (const { where, message } of problems) {
    const path = where.replace(/^body\.(params\.|jobs\.\d+\.(params\.)?)?/, "");
    const name = names.find((one) => path === one || path.startsWith(`${one}.`));
    if (name === undefined) rest.push(`${where}: ${message}`);
    else {
      const inside = path.slice(name.length + 1);
      const text = inside ? `${inside}: ${message}` : message;
      fields[name] = name in fields ? `${fields[name]}; ${text}` : text;
    }
  }
  return { fields, rest };
}

// Derives form fields from the JSON Schema of a task's parameters. A shape without a matching field
// (an object, a list of lists, a union) is edited as JSON.

export type Kind =
  | "text" | "secret" | "integer" | "number" | "boolean" | "choice" | "choices" | "list" | "instant" | "date"
  | "file" | "json";

export interface FormField {
  readonly name: string;
  readonly kind: Kind;
  readonly description: string;
  readonly isRequired: boolean;
  /** The value may be null. */
  readonly isNullable: boolean;
  /** The default of the parameter; undefined if it is unknown. */
  readonly default_: unknown;
  readonly choices: readonly unknown[];
  /** The kind of the items of a list. */
  readonly items: Kind;
  readonly bounds: Readonly<Partial<Record<Bound, number | string>>>;
}

export type Bound = "min" | "max" | "minlength" | "maxlength" | "pattern";

const MOST_BOXES = 16;

export type Shape = { readonly [key: string]: unknown };

/** Return the fields of a schema, required fields first. */
export function fieldsOf(schema: Shape): FormField[] {
  const named = (schema.$defs ?? {}) as Record<string, Shape>;
  const required = (schema.required ?? []) as readonly string[];
  const shapes = Object.entries((schema.properties ?? {}) as Record<string, Shape>);
  const fields = shapes.map(([name, shape]) => fieldOf(name, shape, required.includes(name), named));
  return [...fields.filter((one) => one.isRequired), ...fields.filter((one) => !one.isRequired)];
}

function fieldOf(
  name: string,
  given: Shape,
  isRequired: boolean,
  named: Record<string, Shape>,
): FormField {
  const { shape, isNullable } = plain(given, named);
  const items = plain((shape.items ?? {}) as Shape, named).shape;
  const kind = isListOfFew(shape, items) ? "choices" : kindOf(shape);
  return {
    name,
    kind,
    description: text(given.description) || text(shape.description),
    isRequired,
    isNullable,
    default_: given.default,
    choices: choicesOf(kind === "choices" ? items : shape),
    items: kind === "list" ? kindOf(items) : "text",
    bounds: boundsOf(shape),
  };
}

/** Resolve references, and treat "T or null" as T. */
function plain(
  given: Shape,
  named: Record<string, Shape>,
  depth = 0,
): { shape: Shape; isNullable: boolean } {
  if (depth > 8) return { shape: {}, isNullable: false };
  if (typeof given.$ref === "string") {
    const name = given.$ref.split("/").at(-1) ?? "";
    return plain(named[name] ?? {}, named, depth + 1);
  }
  const all = given.allOf as Shape[] | undefined;
  if (all?.length === 1) return plain(all[0]!, named, depth + 1);
  const some = (given.anyOf ?? given.oneOf) as Shape[] | undefined;
  if (!some) return { shape: given, isNullable: false };
  const rest = some.filter((one) => one.type !== "null");
  if (rest.length !== 1) return { shape: {}, isNullable: rest.length < some.length };
  return { shape: plain(rest[0]!, named, depth + 1).shape, isNullable: rest.length < some.length };
}

/** Return whether a list has a few possible items, so that a row of checkboxes can edit it. */
function isListOfFew(shape: Shape, items: Shape): boolean {
  if (shape.type !== "array" || "prefixItems" in shape || "enum" in shape) return false;
  return kindOf(items) === "choice" && choicesOf(items).length <= MOST_BOXES;
}

function kindOf(shape: Shape): Kind {
  if ("enum" in shape || "const" in shape) return "choice";
  switch (shape.type) {
    case "string":
      if (shape.writeOnly === true || shape.format === "password") return "secret";
      if (shape.format === "date-time") return "instant";
      if (shape.format === "date" || shape.format === "file") return shape.format;
      return "text";
    case "integer":
    case "number":
    case "boolean":
      return shape.type;
    case "array": {
      const items = (shape.items ?? {}) as Shape;
      const isScalar = ["string", "integer", "number"].includes(String(items.type));
      return isScalar && !("prefixItems" in shape) ? "list" : "json";
    }
    default:
      return "json";
  }
}

function choicesOf(shape: Shape): readonly unknown[] {
  if ("const" in shape) return [shape.const];
  return (shape.enum ?? []) as readonly unknown[];
}

const BOUNDS: Readonly<Record<string, Bound>> = {
  minimum: "min",
  maximum: "max",
  minLength: "minlength",
  maxLength: "maxlength",
  pattern: "pattern",
};

function boundsOf(shape: Shape): FormField["bounds"] {
  const bounds: Partial<Record<Bound, number | string>> = {};
  for (const [name, bound] of Object.entries(BOUNDS)) {
    const value = shape[name];
    if (typeof value === "number" || typeof value === "string") bounds[bound] = value;
  }
  return bounds;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

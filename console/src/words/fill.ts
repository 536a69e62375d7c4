// Fills in a text: "{name}" is replaced, and `n` chooses between "one|many".

export type Facts = Readonly<Record<string, string | number>>;

export function fill(pattern: string, facts: Facts = {}): string {
  const forms = pattern.split("|");
  const form = (String(facts.n) === "1" ? forms[0] : forms.at(-1)) ?? pattern;
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => String(facts[name] ?? whole));
}

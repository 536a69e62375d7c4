// Messages for the fields of a form.

import { t } from "../words/index.svelte";
import type { Read } from "./reading";

type Told = Readonly<Record<string, string>>;

/** Return the message of each field that cannot be parsed. */
export const tell = (problems: Read["problems"]): Told =>
  Object.fromEntries(
    Object.entries(problems).map(([name, { word, message }]) => [name, t(word, { message })]),
  );

/** Clear the message of a field when its text changes. */
export function afterInput(problems: Told, { target }: Event): Told {
  const { name } = target as HTMLInputElement;
  if (!(name in problems)) return problems;
  return Object.fromEntries(Object.entries(problems).filter(([one]) => one !== name));
}

// What is said of the fields of a form.

import { t } from "../words/index.svelte";
import type { Read } from "./reading";

type Told = Readonly<Record<string, string>>;

/** Say which fields cannot be read, and why. */
export const tell = (problems: Read["problems"]): Told =>
  Object.fromEntries(
    Object.entries(problems).map(([name, { word, message }]) => [name, t(word, { message })]),
  );

/** What is wrong with a field is not true any more once it is changed. */
export function afterInput(problems: Told, { target }: Event): Told {
  const { name } = target as HTMLInputElement;
  if (!(name in problems)) return problems;
  return Object.fromEntries(Object.entries(problems).filter(([one]) => one !== name));
}

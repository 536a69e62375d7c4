// Messages for the fields of a form.

import { t } from "../words/index.svelte";
import type { Read } from "./values";

type Messages = Readonly<Record<string, string>>;

/** Return the message of each field that cannot be parsed. */
export const messagesOf = (problems: Read["problems"]): Messages =>
  Object.fromEntries(
    Object.entries(problems).map(([name, { word, message }]) => [name, t(word, { message })]),
  );

/** Clear the message of a field when its text changes. */
export function afterInput(problems: Messages, { target }: Event): Messages {
  const { name } = target as HTMLInputElement;
  if (!(name in problems)) return problems;
  return Object.fromEntries(Object.entries(problems).filter(([one]) => one !== name));
}

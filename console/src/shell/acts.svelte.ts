// User actions. An action is pending until the server responds, and an error is shown.

import { SvelteSet } from "svelte/reactivity";
import { t } from "../words/index.svelte";
import { toasts } from "./toasts.svelte";

const pending = new SvelteSet<string>();

/** Whether an action of this name is under way. */
export const isPending = (name: string): boolean => pending.has(name);

/**
 * Run an action under a name that controls use to show that it is pending. Returns its result, or
 * undefined after an error, which is shown.
 */
export async function act<T>(name: string, action: () => Promise<T>): Promise<T | undefined> {
  if (pending.has(name)) return undefined;
  pending.add(name);
  try {
    return await action();
  } catch (error) {
    toasts.problem(error, t("common.show_job"));
    return undefined;
  } finally {
    pending.delete(name);
  }
}

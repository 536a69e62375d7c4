// What people do. A control that acts is pending until the server has answered, and what does not
// work is said.

import { SvelteSet } from "svelte/reactivity";
import { t } from "../words/index.svelte";
import { toasts } from "./toasts.svelte";

const pending = new SvelteSet<string>();

/** Whether something with this name is on its way. */
export const isPending = (name: string): boolean => pending.has(name);

/**
 * Do something under a name by which controls know that it is pending. Returns what came of it, or
 * undefined where it did not work, which has then been said.
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

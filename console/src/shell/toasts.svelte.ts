// Short messages that disappear. Problems stay until they are dismissed: they hold a remedy.

import { asProblem } from "../api/problem";

export interface Toast {
  readonly id: number;
  readonly kind: "done" | "problem";
  readonly text: string;
  readonly hint: string;
  readonly link: { href: string; text: string } | null;
}

const MOST = 4;
const DONE_MS = 5_000;
const PROBLEM_MS = 15_000;

class Toasts {
  items: readonly Toast[] = $state.raw([]);
  #last = 0;

  done(text: string, link: Toast["link"] = null): void {
    this.#show({ kind: "done", text, hint: "", link }, DONE_MS);
  }

  /** Show a problem, with a link to the blocking job if there is one. */
  problem(error: unknown, linkText: string): void {
    const { detail, hint, active_job } = asProblem(error);
    const link = active_job === null ? null : { href: `#/jobs/${active_job}`, text: linkText };
    this.#show({ kind: "problem", text: detail, hint, link }, PROBLEM_MS);
  }

  dismiss(id: number): void {
    this.items = this.items.filter((toast) => toast.id !== id);
  }

  #show(toast: Omit<Toast, "id">, milliseconds: number): void {
    const id = (this.#last += 1);
    const others = this.items.filter((other) => other.text !== toast.text);
    this.items = [...others, { ...toast, id }].slice(-MOST);
    setTimeout(() => this.dismiss(id), milliseconds);
  }
}

export const toasts = new Toasts();

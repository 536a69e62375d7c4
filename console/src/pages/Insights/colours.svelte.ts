// The colours of the page for a canvas. A canvas does not support custom properties, so the browser
// computes each colour, again after each change of the theme.

import { theme } from "../../shell/theme.svelte";

class Scheme {
  #isDark = $state(false);

  constructor() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.#isDark = dark.matches;
    dark.addEventListener("change", () => (this.#isDark = dark.matches));
  }

  /** Read it where colours are used, so that they follow the theme. */
  get isDark(): boolean {
    return theme.choice === "auto" ? this.#isDark : theme.choice === "dark";
  }
}

export const scheme = new Scheme();

/** Return a colour of the page, mixed with the background of a panel. */
export function colour(name: string, percent = 100): string {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `color-mix(in srgb, var(--${name}) ${percent}%, var(--panel))`);
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

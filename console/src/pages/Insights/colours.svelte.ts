// The colours of the page as a canvas takes them. A canvas knows no custom properties, so each is
// worked out by the browser, and anew whenever the theme changes.

import { theme } from "../../shell/theme.svelte";

class Scheme {
  #isDark = $state(false);

  constructor() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.#isDark = dark.matches;
    dark.addEventListener("change", () => (this.#isDark = dark.matches));
  }

  /** Read where colours are used, it makes them follow the theme. */
  get isDark(): boolean {
    return theme.choice === "auto" ? this.#isDark : theme.choice === "dark";
  }
}

export const scheme = new Scheme();

/** Return a colour of the page, mixed with the ground of a panel to so many percent. */
export function colour(name: string, percent = 100): string {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `color-mix(in srgb, var(--${name}) ${percent}%, var(--panel))`);
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

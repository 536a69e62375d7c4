// Light, dark, or the system's theme.

export type Choice = "auto" | "light" | "dark";
export const CHOICES: readonly Choice[] = ["auto", "light", "dark"];

const KEPT = "fairlane.theme";

function kept(): Choice {
  const chosen = localStorage.getItem(KEPT);
  return chosen === "light" || chosen === "dark" ? chosen : "auto";
}

class Theme {
  #choice: Choice = $state(kept());

  get choice(): Choice {
    return this.#choice;
  }

  choose(choice: Choice): void {
    this.#choice = choice;
    if (choice === "auto") localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, choice);
    this.apply();
  }

  apply(): void {
    if (this.#choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.#choice;
  }
}

export const theme = new Theme();

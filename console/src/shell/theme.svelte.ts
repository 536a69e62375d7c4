// Light, dark, or the system's theme.

export type Choice = "auto" | "light" | "dark";
export const CHOICES: readonly Choice[] = ["auto", "light", "dark"];

const STORAGE_KEY = "fairlane.theme";

function stored(): Choice {
  const chosen = localStorage.getItem(STORAGE_KEY);
  return chosen === "light" || chosen === "dark" ? chosen : "auto";
}

class Theme {
  #choice: Choice = $state(stored());

  get choice(): Choice {
    return this.#choice;
  }

  choose(choice: Choice): void {
    this.#choice = choice;
    if (choice === "auto") localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, choice);
    this.apply();
  }

  apply(): void {
    if (this.#choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.#choice;
  }
}

export const theme = new Theme();

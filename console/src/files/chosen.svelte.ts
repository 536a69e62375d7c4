// What was chosen for the files of each task, kept in this browser: whoever adds files adds more.

import { fitting, type Params } from "./options";
import type { Target } from "./targets";

// One server may have several programs, each at an address of its own.
const KEPT = `fairlane.files ${location.pathname}`;

function kept(): Record<string, unknown> {
  try {
    return Object(JSON.parse(localStorage.getItem(KEPT) ?? "{}")) as Record<string, unknown>;
  } catch {
    return {};
  }
}

class ChosenOptions {
  #byTask = $state.raw(kept());

  constructor() {
    // Another tab of this browser has changed them.
    addEventListener("storage", ({ key }) => {
      if (key === KEPT || key === null) this.#byTask = kept();
    });
  }

  of({ task, options }: Target): Params {
    return fitting(options, this.#byTask[task]);
  }

  choose({ task }: Target, params: Params): void {
    const { [task]: _, ...others } = kept(); // as another tab has left them
    this.#byTask = Object.keys(params).length > 0 ? { ...others, [task]: params } : others;
    try {
      localStorage.setItem(KEPT, JSON.stringify(this.#byTask));
    } catch {
      // There is no room for it: it holds until the page is left.
    }
  }
}

export const chosenOptions = new ChosenOptions();

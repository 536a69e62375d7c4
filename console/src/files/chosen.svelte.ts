// The options for the files of each task, stored in this browser for the next files.

import { fitting, type Params } from "./options";
import type { Target } from "./targets";

// One origin may serve several programs under different prefixes.
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
    // Another tab of this browser changed the options.
    addEventListener("storage", ({ key }) => {
      if (key === KEPT || key === null) this.#byTask = kept();
    });
  }

  of({ task, options }: Target): Params {
    return fitting(options, this.#byTask[task]);
  }

  choose({ task }: Target, params: Params): void {
    const { [task]: _, ...others } = kept(); // read again: another tab may have changed it
    this.#byTask = Object.keys(params).length > 0 ? { ...others, [task]: params } : others;
    try {
      localStorage.setItem(KEPT, JSON.stringify(this.#byTask));
    } catch {
      // The storage is full or disabled: the options hold until the page is closed.
    }
  }
}

export const chosenOptions = new ChosenOptions();

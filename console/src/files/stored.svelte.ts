// The options for the files of each task, stored in this browser for the next files.

import { fitting, type Params } from "./options";
import type { Target } from "./targets";

// One origin may serve several programs under different prefixes.
const STORAGE_KEY = `fairlane.files ${location.pathname}`;

function stored(): Record<string, unknown> {
  try {
    return Object(JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}")) as Record<string, unknown>;
  } catch {
    return {};
  }
}

class ChosenOptions {
  #byTask = $state.raw(stored());

  constructor() {
    // Another tab of this browser changed the options.
    addEventListener("storage", ({ key }) => {
      if (key === STORAGE_KEY || key === null) this.#byTask = stored();
    });
  }

  of({ task, options }: Target): Params {
    return fitting(options, this.#byTask[task]);
  }

  choose({ task }: Target, params: Params): void {
    const { [task]: _, ...others } = stored(); // read again: another tab may have changed it
    this.#byTask = Object.keys(params).length > 0 ? { ...others, [task]: params } : others;
    try {
      localStorage.setItem(STORAGE_KEY, JSON.stringify(this.#byTask));
    } catch {
      // The storage is full or disabled: the options hold until the page is closed.
    }
  }
}

export const chosenOptions = new ChosenOptions();

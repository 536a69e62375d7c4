// Parameters that were copied from a lane, to be pasted into other lanes.

import { toasts } from "../../shell/toasts.svelte";
import { t } from "../../words/index.svelte";
import type { Address, LaneCall } from "../../api/lanes";

class Clipboard {
  #held: { from: Address; call: LaneCall } | null = $state.raw(null);

  get held(): { from: Address; call: LaneCall } | null {
    return this.#held;
  }

  take({ queue, lane }: Address, call: LaneCall): void {
    this.#held = { from: { queue, lane }, call };
    // Also copy to the system's clipboard; a browser may refuse that.
    void navigator.clipboard?.writeText(JSON.stringify(call.params, null, 2)).catch(() => {});
    toasts.done(t("lanes.done.copied", { lane }));
  }

  clear(): void {
    this.#held = null;
  }
}

export const clipboard = new Clipboard();

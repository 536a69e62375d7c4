// The buttons that change a task, with their errors as messages.

import { cancelTask, prioritizeTask, reextractTask } from "./api.js";
import { h, icon, set } from "./dom.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

/** @typedef {import("./types.js").Task} Task */

const session = { mayOperate: true };

/** @param {boolean} mayOperate */
export function setAccess(mayOperate) {
  session.mayOperate = mayOperate;
}

export const mayOperate = () => session.mayOperate;

/** @param {Task} task */
export const isEnded = (task) => ["completed", "failed", "cancelled"].includes(task.status);

/**
 * Make a button that runs an action once at a time.
 * @param {{word: string, icon: string, act: () => Promise<unknown>, class?: string}} options
 */
export function actionButton({ word, icon: name, act, class: look = "" }) {
  const button = h(
    "button",
    {
      type: "button",
      class: look,
      onclick: async () => {
        if (button.ariaDisabled === "true") return;
        button.ariaDisabled = "true"; // a disabled button would lose the focus
        try {
          await act();
        } catch (error) {
          toast(t("act.failed", { why: error instanceof Error ? error.message : "" }), "bad");
        } finally {
          button.ariaDisabled = null;
        }
      },
    },
    icon(name),
    h("span", {}, t(word)),
  );
  return button;
}

/**
 * Make the buttons of a task: those that its status does not allow are hidden.
 * @param {() => Task} task
 */
export function taskActions(task) {
  const first = actionButton({
    word: "act.first", icon: "first", act: () => prioritizeTask(task().id),
  });
  const cancel = actionButton({
    word: "act.cancel", icon: "cancel", act: () => cancelTask(task().id),
  });
  const again = actionButton({
    word: "act.again",
    icon: "again",
    act: async () => {
      await reextractTask(task().id);
      toast(t("act.again.done"));
    },
  });
  const element = h("div", { class: "actions" }, first, cancel, again);
  return {
    element,
    /** @param {string} name */
    update(name) {
      const now = task();
      const isWaiting = now.status === "pending" || now.status === "created";
      set(first, "hidden", !(mayOperate() && isWaiting));
      set(cancel, "hidden", !(mayOperate() && !isEnded(now) && !now.meta.stopping));
      set(again, "hidden", !(mayOperate() && isEnded(now)));
      for (const [button, word] of /** @type {const} */ ([
        [first, "act.first"], [cancel, "act.cancel"], [again, "act.again"],
      ]))
        set(button, "aria-label", t("act.of", { act: t(word), name }));
    },
  };
}

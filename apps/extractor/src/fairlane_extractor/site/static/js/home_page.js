// The first page: new tasks above, all tasks below.

import { mayOperate } from "./actions.js";
import { composer } from "./composer.js";
import { h } from "./dom.js";
import { taskList } from "./task_list.js";
import { t } from "./words.js";

/** @param {AbortSignal} signal */
export function homePage(signal) {
  const list = taskList(signal);
  return h(
    "main",
    { id: "content", class: "home" },
    h("h1", { tabindex: -1 }, t("new.title")),
    mayOperate() ? composer(list.put, signal) : h("p", { class: "hint" }, t("app.read_only")),
    list.element,
  );
}

// A task in the list. Its elements are made once, so that the focus survives every update.

import { isEnded, taskActions } from "./actions.js";
import { h, set, write } from "./dom.js";
import { clock, instant, shortInput } from "./format.js";
import { presentText, stageBar } from "./stages.js";
import { errorText, platformText, t, told } from "./words.js";

/** @typedef {import("./types.js").Task} Task */

/** @param {Task} task */
export const titleOf = (task) => task.result?.title || shortInput(task.input);

/** @param {Task} task */
export function statusText(task) {
  return t(task.meta.stopping && !isEnded(task) ? "status.stopping" : `status.${task.status}`);
}

/** @param {Task} first */
export function taskRow(first) {
  let task = first;
  const title = h("a", { class: "title", href: `#/task/${task.id}` });
  const status = h("span", { class: "badge" });
  const facts = h("span", { class: "facts" });
  const input = h("p", { class: "input" });
  const message = h("p", { class: "message" });
  const bar = stageBar();
  const actions = taskActions(() => task);
  const element = h(
    "li",
    { class: "task", "data-task": task.id },
    h("div", { class: "head" }, h("h3", {}, title), status),
    input,
    bar.element,
    h("div", { class: "foot" }, h("div", {}, message, facts), actions.element),
  );

  /** @param {Task} changed */
  function update(changed) {
    task = changed;
    const name = titleOf(task);
    write(title, name);
    set(title, "title", name);
    set(status, "data-status", task.status);
    write(status, statusText(task));
    const shown = shortInput(task.input);
    write(input, shown);
    set(input, "title", task.input);
    set(input, "hidden", shown === name || shown.replace(/\.[^.]+$/, "") === name);
    bar.update(task, name);
    set(bar.element, "hidden", task.status === "pending" || isEnded(task));
    write(message, messageText(task));
    set(message, "class", task.status === "failed" ? "message bad" : "message");
    write(facts, factsText(task));
    actions.update(name);
  }

  update(first);
  return { element, update, task: () => task };
}

/** @param {Task} task */
function messageText(task) {
  if (task.error) return errorText(task);
  if (task.status === "pending") return task.meta.waiting_for.map(told).join("; ");
  return presentText(task);
}

/** @param {Task} task */
function factsText(task) {
  const { result } = task;
  return [
    platformText(task.platform),
    result?.seconds ? clock(result.seconds) : "",
    result ? t("task.lines", { n: result.lines }) : "",
    instant(task.meta.ended_at ?? task.created_at),
  ]
    .filter(Boolean)
    .join(" · ");
}

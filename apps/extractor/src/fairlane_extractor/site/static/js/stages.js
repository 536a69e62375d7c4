// The stages of a task: as a bar of six parts, and as a list with messages.

import { clock } from "./format.js";
import { h, set, write } from "./dom.js";
import { coded, t, told } from "./words.js";

/** @typedef {import("./types.js").Task} Task */
/** @typedef {import("./types.js").StageProgress} StageProgress */

export const STAGES = ["parsing", "downloading", "subtitle", "asr", "ocr", "merge"];

/**
 * @param {Task} task
 * @param {string} name
 * @returns {StageProgress}
 */
function stageOf(task, name) {
  return (
    task.stage_progress[name] ?? {
      stage: name, status: "pending", progress: 0, message: null, started_at: null,
      finished_at: null,
    }
  );
}

/**
 * The stage that runs, if one does.
 * @param {Task} task
 */
function presentStage(task) {
  return STAGES.map((name) => stageOf(task, name)).find((stage) => stage.status === "running");
}

/**
 * Return what happens now, in a few words.
 * @param {Task} task
 */
export function presentText(task) {
  const stage = presentStage(task);
  if (!stage) {
    // Ended stages keep their last message; only one that waits says why.
    const waiting = STAGES.map((name) => stageOf(task, name))
      .find(({ status, message }) => status === "pending" && message);
    const runs = ["parsing", "downloading", "extracting", "merging"].includes(task.status);
    return runs && waiting ? `${t(`stage.${waiting.stage}`)} · ${told(waiting.message)}` : "";
  }
  const percent = stage.progress > 0 ? `${stage.progress} %` : "";
  return [t(`stage.${stage.stage}`), percent, told(stage.message)].filter(Boolean).join(" · ");
}

/** Make the bar of a row. */
export function stageBar() {
  const fills = STAGES.map(() => h("i"));
  const element = h(
    "div",
    { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 },
    ...fills.map((fill) => h("span", {}, fill)),
  );
  return {
    element,
    /**
     * @param {Task} task
     * @param {string} name
     */
    update(task, name) {
      set(element, "aria-label", t("stages.of", { name }));
      set(element, "aria-valuenow", task.progress);
      const text = presentText(task);
      set(element, "aria-valuetext", `${task.progress} %${text && `, ${text}`}`);
      STAGES.forEach((stageName, index) => {
        const stage = stageOf(task, stageName);
        const fill = fills[index];
        if (!fill) return;
        set(fill.parentElement ?? fill, "class", stage.status);
        set(fill.parentElement ?? fill, "title", t(`stage.${stageName}`));
        const percent = stage.status === "running" ? stage.progress : 100;
        fill.style.inlineSize = stage.status === "pending" ? "0" : `${percent}%`;
      });
    },
  };
}

/** Make the list of the page of a task. */
export function stageList() {
  const rows = STAGES.map((name) => {
    const state = h("span", { class: "state" });
    const message = h("span", { class: "message" });
    const row = h("li", {}, h("span", { class: "name" }, t(`stage.${name}`)), state, message);
    return { name, row, state, message };
  });
  const element = h("ol", { class: "stages" }, ...rows.map(({ row }) => row));
  return {
    element,
    /** @param {Task} task */
    update(task) {
      for (const { name, row, state, message } of rows) {
        const stage = stageOf(task, name);
        set(row, "class", stage.status);
        const percent = stage.status === "running" ? ` ${stage.progress} %` : "";
        write(state, `${t(`state.${stage.status}`)}${percent}`);
        const took = stage.status === "done" ? duration(stage) : "";
        write(message, [messageOf(task, stage), took].filter(Boolean).join(" · "));
      }
    },
  };
}

/**
 * @param {Task} task
 * @param {StageProgress} stage
 */
function messageOf(task, stage) {
  const names = [stage.stage, stage.stage === "merge" ? "merging" : ""];
  const branch = task.result?.branches?.find(({ name }) => names.includes(name));
  if (stage.status === "skipped" && branch) return coded("reason", branch.code, told(stage.message));
  return told(stage.message);
}

/** @param {StageProgress} stage */
function duration({ started_at, finished_at }) {
  if (!started_at || !finished_at) return "";
  const seconds = (Date.parse(finished_at) - Date.parse(started_at)) / 1000;
  return seconds < 1 ? "" : clock(seconds);
}

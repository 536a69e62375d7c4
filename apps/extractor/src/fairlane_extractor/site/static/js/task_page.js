// The page of one task: its stages while it runs, then its text beside the media.

import { actionButton, isEnded, mayOperate, taskActions } from "./actions.js";
import { deleteResult, downloadAddress, Problem, readResult, readTask, readText } from "./api.js";
import { branchTable } from "./branches.js";
import { fill, h, icon, set, write } from "./dom.js";
import { clock, count, instant, shortInput } from "./format.js";
import { isOlder, live, progressed } from "./live.js";
import { player } from "./player.js";
import { presentText, stageBar, stageList } from "./stages.js";
import { statusText, titleOf } from "./task_row.js";
import { toast } from "./toasts.js";
import { transcript } from "./transcript.js";
import { errorText, platformText, t, told } from "./words.js";

/** @typedef {import("./types.js").Task} Task */
/** @typedef {import("./types.js").Result} Result */

const FORMATS = ["txt", "srt", "vtt", "md", "json"];

/**
 * @param {string} id
 * @param {URLSearchParams} query `t` is a place in seconds
 * @param {AbortSignal} signal
 */
export function taskPage(id, query, signal) {
  const title = h("h1", { tabindex: -1 }, t("app.loading"));
  const facts = h("p", { class: "facts" });
  const tools = h("div", { class: "tools" });
  const body = h("div", { class: "body" });
  const element = h(
    "main",
    { id: "content", class: "detail" },
    h("a", { class: "back", href: "#/" }, icon("back"), h("span", {}, t("app.home"))),
    title, facts, tools, body,
  );
  /** @type {Task | null} */
  let task = null;
  /** @type {ReturnType<typeof progressView> | null} */
  let progress = null;

  /** @param {Task} changed */
  function update(changed) {
    if (isOlder(changed, task)) return;
    const before = task;
    task = changed;
    write(title, titleOf(task));
    document.title = `${titleOf(task)} · ${t("app.name")}`;
    if (task.status === "completed") {
      if (before?.status !== "completed") void showText();
      return;
    }
    if (!progress) {
      progress = progressView(() => /** @type {Task} */ (task));
      fill(tools, progress.actions);
      fill(body, progress.element);
    }
    fill(facts, ...taskFacts(task));
    progress.update();
  }

  async function showText() {
    progress = null;
    try {
      const result = await readResult(id);
      if (!signal.aborted) showResult(result);
    } catch (error) {
      if (signal.aborted) return;
      const isGone = error instanceof Problem && error.status === 404;
      showNoText(isGone ? t("task.no_text") : error instanceof Error ? error.message : "");
    }
  }

  /** @param {Result} result */
  function showDeleted(result) {
    fill(facts, ...(task ? taskFacts(task) : [source(result.input)]));
    showNoText(t("task.no_text"));
    title.focus(); // the button that had it is gone
  }

  /** @param {string} text */
  function showNoText(text) {
    fill(tools, task && againButton(() => /** @type {Task} */ (task)));
    fill(body, h("p", { class: "none" }, text));
  }

  /** @param {Result} result */
  function showResult(result) {
    const view = textView(result, query, mediaNote(result, task));
    write(title, result.title || shortInput(result.input));
    document.title = `${title.textContent} · ${t("app.name")}`;
    fill(facts, ...resultFacts(result));
    const again = task ? againButton(() => /** @type {Task} */ (task)) : null;
    fill(tools, ...resultTools(result, () => showDeleted(result)), again);
    fill(body, view.element);
    view.start();
  }

  async function load() {
    try {
      const read = await readTask(id);
      if (!signal.aborted) update(read);
    } catch (error) {
      if (signal.aborted) return;
      // The history of the queue may be shorter than that of the texts.
      if (error instanceof Problem && error.status === 404) return loadTextAlone();
      write(title, error instanceof Error ? error.message : "");
    }
  }

  async function loadTextAlone() {
    try {
      const result = await readResult(id);
      if (!signal.aborted) showResult(result);
    } catch {
      write(title, t("task.gone"));
    }
  }

  live.listen(
    {
      reload: () => {
        if (task && !isEnded(task)) void load();
      },
      changed: (changed) => {
        if (changed.id === id) update(changed);
      },
      progressed: (news) => {
        if (news.taskId === id && task) update(progressed(task, news));
      },
    },
    signal,
  );
  void load();
  return element;
}

/** @param {() => Task} task */
function progressView(task) {
  const status = h("span", { class: "badge" });
  const message = h("p", { class: "message", role: "status" });
  const problem = h("p", { class: "problem", hidden: true });
  const why = h("div", { class: "why" });
  const bar = stageBar();
  const stages = stageList();
  const actions = taskActions(task);
  const element = h("section", { class: "progress" },
    h("h2", {}, t("stages.title"), " ", status), problem, why, bar.element, message, stages.element);
  return {
    element,
    actions: actions.element,
    update() {
      const now = task();
      set(status, "data-status", now.status);
      write(status, statusText(now));
      bar.update(now, titleOf(now));
      stages.update(now);
      write(message, presentText(now));
      write(problem, errorText(now));
      set(problem, "title", now.error?.message);
      set(problem, "hidden", !now.error);
      const reasons = now.status === "pending" ? now.meta.waiting_for : [];
      fill(why, reasons.length > 0 && [h("h3", {}, t("task.waits")),
        h("ul", {}, ...reasons.map((reason) => h("li", {}, told(reason))))].flat());
      actions.update(titleOf(now));
    },
  };
}

/**
 * @param {Result} result
 * @param {URLSearchParams} query
 * @param {string} note why there is no media; empty if there is
 */
function textView(result, query, note) {
  const media = note === ""
    ? player(result.id, (seconds) => text.showTime(seconds, { isPlaying: media?.isPlaying() ?? false }))
    : null;
  const text = transcript(result.lines, (seconds) => {
    media?.seek(seconds, { plays: true });
    if (!media) text.reveal(seconds);
  });
  const element = h("div", { class: media ? "beside" : "beside alone" },
    h("div", { class: "side" },
      media?.element ?? h("p", { class: "note" }, note),
      branchTable(result.branches)),
    result.lines.length ? text.element : h("p", { class: "none" }, t("task.empty")));
  return {
    element,
    /** Go to the place in the address. */
    start() {
      const place = Number.parseFloat(query.get("t") ?? "");
      if (!(place >= 0)) return;
      media?.seek(place, { plays: false });
      text.reveal(place);
    },
  };
}

/**
 * Return why the media is not beside the text; nothing if it is.
 * @param {Result} result
 * @param {Task | null} task
 */
function mediaNote(result, task) {
  if (result.media_path)
    return task?.result && !task.result.has_media ? t("task.media_elsewhere") : "";
  return t(task?.meta.options.media === "remove" ? "task.media_removed" : "task.no_media");
}

/** @param {() => Task} task */
function againButton(task) {
  const actions = taskActions(task);
  actions.update(titleOf(task()));
  return actions.element;
}

/**
 * @param {Result} result
 * @param {() => void} deleted
 */
function resultTools(result, deleted) {
  const copy = actionButton({
    word: "act.copy",
    icon: "copy",
    act: async () => {
      const text = await readText(result.id);
      await navigator.clipboard.writeText(text).then(
        () => toast(t("act.copy.done")),
        () => toast(t("act.copy.failed"), "bad"),
      );
    },
  });
  const remove = actionButton({
    word: "act.delete",
    icon: "bin",
    act: async () => {
      if (!confirm(t("act.delete.sure"))) return;
      await deleteResult(result.id);
      toast(t("act.delete.done"));
      deleted();
    },
  });
  return [
    h("nav", { class: "formats", "aria-label": t("task.download") },
      h("span", { "aria-hidden": "true" }, t("task.download")),
      ...FORMATS.map((format) =>
        h("a", { href: downloadAddress(result.id, format), download: "",
          "aria-label": `${t("task.download")} ${format}` }, format))),
    "clipboard" in navigator ? copy : null, // only on secure origins
    mayOperate() ? remove : null,
  ];
}

/** @param {Task} task */
function taskFacts(task) {
  return [h("span", {}, platformText(task.platform)), source(task.input), h("span", {}, instant(task.created_at))];
}

/** @param {Result} result */
function resultFacts(result) {
  const characters = result.lines.reduce((sum, line) => sum + line.text.length, 0);
  return [
    h("span", {}, platformText(result.platform)),
    result.seconds ? h("span", {}, clock(result.seconds)) : null,
    result.language ? h("span", { class: "language" }, result.language) : null,
    h("span", {}, t("task.lines", { n: result.lines.length })),
    h("span", {}, t("task.characters", { n: count(characters) })),
    h("span", {}, instant(result.created_at)),
    source(result.input),
  ];
}

/** @param {string} input */
function source(input) {
  const isLink = /^https?:\/\/\S+$/i.test(input);
  const short = shortInput(input);
  if (!isLink) return h("span", { class: "source-of", title: input }, short);
  return h("a", { class: "source-of", href: input, target: "_blank", rel: "noreferrer noopener",
    title: t("task.original") }, short);
}

// The live list of tasks, with its filters.

import { listTasks } from "./api.js";
import { fill, h, set, write } from "./dom.js";
import { isOlder, live, progressed } from "./live.js";
import { taskRow } from "./task_row.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

/** @typedef {import("./types.js").Task} Task */
/** @typedef {import("./types.js").Status} Status */

/** @type {Record<string, Status[]>} */
const FILTERS = {
  all: [],
  active: ["created", "pending", "parsing", "downloading", "extracting", "merging"],
  completed: ["completed"],
  failed: ["failed"],
  cancelled: ["cancelled"],
};
const TYPING_MILLISECONDS = 250;
const MOST_ROWS = 1000; // of one page; the filters find the others

/** @param {AbortSignal} signal */
export function taskList(signal) {
  /** @type {Map<string, ReturnType<typeof taskRow>>} */
  const rows = new Map();
  /** @type {Map<string, Task>} */
  const left = new Map(); // tasks that no longer match, because an older answer may still list them
  let filter = "all";
  let text = "";
  /** @type {string | null} */
  let next = null;
  let version = 0; // of the filter: an answer to an earlier one is ignored

  const list = h("ul", { class: "tasks" });
  const none = h("p", { class: "none", hidden: true });
  const more = h("button", { type: "button", class: "more", hidden: true }, t("tasks.more"));
  more.onclick = () => load(next);
  const chips = Object.keys(FILTERS).map((name) =>
    h("button", { type: "button", "aria-pressed": String(name === filter), "data-filter": name,
      onclick: () => choose(name) }, t(`tasks.${name}`)),
  );
  const find = h("input", {
    type: "search", placeholder: t("tasks.find"), "aria-label": t("tasks.find"), maxlength: 200,
  });
  let typing = 0;
  find.oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      text = find.value.trim();
      restart();
    }, TYPING_MILLISECONDS);
  };
  const element = h(
    "section",
    { class: "list", "aria-labelledby": "tasks" },
    h("div", { class: "toolbar" },
      h("h2", { id: "tasks" }, t("tasks.title")),
      h("div", { class: "chips", role: "group", "aria-label": t("tasks.filter") }, ...chips),
      find),
    list, none, more,
  );

  /** @param {string} name */
  function choose(name) {
    filter = name;
    for (const chip of chips) set(chip, "aria-pressed", String(chip.dataset.filter === name));
    restart();
  }

  function restart() {
    version += 1;
    rows.clear();
    left.clear();
    fill(list);
    set(none, "hidden", true);
    void load(null);
  }

  /** @param {string | null} cursor */
  async function load(cursor) {
    const mine = version;
    const before = new Map([...rows].map(([id, row]) => [id, row.task()]));
    try {
      const page = await listTasks({ status: FILTERS[filter] ?? [], q: text, cursor });
      if (mine !== version || signal.aborted) return;
      if (cursor === null) dropMissing(page.items, before);
      page.items.forEach(put);
      next = page.next;
      show();
      // A search goes through the history in steps, of which some find no task.
      if (next !== null && page.items.length === 0 && rows.size === 0) await load(next);
    } catch (error) {
      if (!signal.aborted && error instanceof Error) toast(error.message, "bad");
    }
  }

  /**
   * Forget tasks that the first page would have: they have another status, or are deleted. A task
   * that came or changed after the request was sent stays.
   * @param {Task[]} first
   * @param {Map<string, Task>} before the tasks when the request was sent
   */
  function dropMissing(first, before) {
    const listed = new Set(first.map(({ id }) => id));
    const oldest = first.at(-1)?.created_at ?? "";
    for (const [id, row] of rows) {
      const task = row.task();
      if (!listed.has(id) && task === before.get(id) && task.created_at >= oldest) rows.delete(id);
    }
  }

  /** @param {Task} task */
  function put(task) {
    const row = rows.get(task.id);
    if (isOlder(task, row?.task() ?? left.get(task.id))) return;
    if (row) row.update(task);
    else rows.set(task.id, taskRow(task));
  }

  function show() {
    const ordered = [...rows.values()].sort((one, other) => compare(one.task(), other.task()));
    for (const row of ordered.splice(MOST_ROWS)) rows.delete(row.task().id);
    let place = list.firstElementChild;
    for (const { element: row } of ordered) {
      if (row === place) place = place.nextElementSibling;
      else list.insertBefore(row, place);
    }
    while (place) {
      const after = place.nextElementSibling;
      place.remove();
      place = after;
    }
    const isFiltered = filter !== "all" || text !== "";
    write(none, t(isFiltered ? "tasks.none_found" : "tasks.none"));
    set(none, "hidden", ordered.length > 0 || next !== null);
    set(more, "hidden", next === null);
  }

  /** @param {Task} task */
  function receive(task) {
    const wanted = FILTERS[filter] ?? [];
    const matches = (!wanted.length || wanted.includes(task.status)) &&
      (!text || rows.has(task.id) || task.input.toLowerCase().includes(text.toLowerCase()));
    if (matches) put(task);
    else if (!isOlder(task, rows.get(task.id)?.task())) {
      rows.delete(task.id);
      if (left.size > MOST_ROWS) left.clear();
      left.set(task.id, task);
    }
    show();
  }

  live.listen(
    {
      reload: () => void load(null),
      changed: receive,
      progressed: (progress) => {
        const row = rows.get(progress.taskId);
        if (row) row.update(progressed(row.task(), progress));
      },
    },
    signal,
  );
  void load(null);
  return { element, put: receive };
}

const RANKS = { parsing: 0, downloading: 0, extracting: 0, merging: 0, pending: 1, created: 1 };
const PRIORITIES = { high: 0, normal: 1, low: 2 };

/**
 * Running tasks, then waiting ones in their order, then ended ones, the newest end first.
 * @param {Task} one
 * @param {Task} other
 */
function compare(one, other) {
  const rank = (/** @type {Task} */ task) =>
    RANKS[/** @type {keyof typeof RANKS} */ (task.status)] ?? 2;
  if (rank(one) !== rank(other)) return rank(one) - rank(other);
  if (rank(one) === 1)
    return (
      PRIORITIES[one.meta.priority] - PRIORITIES[other.meta.priority] ||
      order(one.meta.position ?? "~", other.meta.position ?? "~") ||
      order(one.created_at, other.created_at)
    );
  if (rank(one) === 0)
    return order(one.meta.started_at ?? "", other.meta.started_at ?? "") || order(one.id, other.id);
  return order(other.meta.ended_at ?? other.updated_at, one.meta.ended_at ?? one.updated_at);
}

/**
 * @param {string} one
 * @param {string} other
 */
const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

// The search over all texts.

import { search } from "./api.js";
import { fill, h, set, write } from "./dom.js";
import { clock } from "./format.js";
import { t } from "./words.js";

/** @typedef {import("./types.js").Hit} Hit */

/**
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 */
export function searchPage(query, signal) {
  const q = query.get("q") ?? "";
  const results = h("div", { class: "hits", "aria-live": "polite" });
  const none = h("p", { class: "none", hidden: true });
  const more = h("button", { type: "button", class: "more", hidden: true }, t("search.more"));
  /** @type {Hit[]} */
  const hits = [];
  /** @type {string | null} */
  let next = null;

  async function load() {
    try {
      const page = await search(q, next);
      if (signal.aborted) return;
      hits.push(...page.items);
      next = page.next;
      fill(results, ...grouped(hits).map(group));
      write(none, t("search.none", { q }));
      set(none, "hidden", hits.length > 0);
    } catch (error) {
      if (signal.aborted) return;
      write(none, error instanceof Error ? error.message : "");
      set(none, "hidden", false);
    }
    set(more, "hidden", next === null);
  }
  more.onclick = load;
  if (q.trim()) void load();
  return h("main", { id: "content", class: "search" },
    h("h1", { tabindex: -1 }, t("search.title")), results, none, more);
}

/**
 * Group hits by their task, in the order of the first hit of each.
 * @param {Hit[]} hits
 */
function grouped(hits) {
  /** @type {Map<string, Hit[]>} */
  const groups = new Map();
  for (const hit of hits) groups.set(hit.id, [...(groups.get(hit.id) ?? []), hit]);
  return [...groups.values()];
}

/** @param {Hit[]} hits of one task */
function group(hits) {
  const [first] = hits;
  if (!first) return null;
  return h("section", {},
    h("h2", {}, h("a", { href: `#/task/${first.id}` }, first.title || first.id),
      h("span", { class: "facts" }, first.platform)),
    h("ul", {}, ...hits.map((hit) =>
      h("li", {},
        h("a", { href: `#/task/${hit.id}?t=${hit.start.toFixed(2)}` },
          h("span", { class: "time" }, hit.line === null ? t("search.in_title") : clock(hit.start)),
          h("span", {}, ...hit.parts.map((part) => (part.is_match ? h("mark", {}, part.text) : part.text))))))));
}

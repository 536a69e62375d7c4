// The start of the page, and its addresses: `#/`, `#/task/ID?t=SECONDS`, `#/search?q=WORDS`.

import { setAccess } from "./actions.js";
import { readSession } from "./api.js";
import { h } from "./dom.js";
import { frame } from "./frame.js";
import { homePage } from "./home_page.js";
import { live } from "./live.js";
import { searchPage } from "./search_page.js";
import { taskPage } from "./task_page.js";
import { addToasts } from "./toasts.js";
import { t } from "./words.js";

const top = frame();
let leave = new AbortController();
/** @type {HTMLElement} */
let shown = h("main", { id: "content" }, h("h1", { tabindex: -1 }, t("app.loading")));

function show() {
  leave.abort();
  leave = new AbortController();
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const facts = new URLSearchParams(query);
  const page = pageOf(path, facts, leave.signal);
  shown.replaceWith(page);
  shown = page;
  top.showQuery(path === "search" ? facts.get("q") ?? "" : "");
  document.title = path ? `${page.querySelector("h1")?.textContent} · ${t("app.name")}` : t("app.name");
}

/**
 * @param {string} path
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 */
function pageOf(path, query, signal) {
  const [kind, id] = path.split("/");
  if (kind === "task" && id) return taskPage(decodeURIComponent(id), query, signal);
  if (kind === "search") return searchPage(query, signal);
  if (!kind) return homePage(signal);
  return h("main", { id: "content" }, h("h1", { tabindex: -1 }, t("app.none")));
}

document.body.append(top.element, shown);
addToasts(document.body);
addEventListener("hashchange", () => {
  show();
  scrollTo(0, 0);
  shown.querySelector("h1")?.focus({ preventScroll: true });
});
const session = await readSession().catch(() => null);
setAccess(session?.role !== "read");
live.connect();
show();

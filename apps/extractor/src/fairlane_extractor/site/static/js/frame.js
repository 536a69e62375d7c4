// The frame of every page: name, search, and the preferences.

import { fill, h, icon, set } from "./dom.js";
import { live } from "./live.js";
import { switchLanguage, t } from "./words.js";

const THEME = "fairlane.theme"; // the console has the same

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(THEME, theme);
}

export function frame() {
  const query = h("input", {
    type: "search", name: "q", placeholder: t("search.label"), "aria-label": t("search.label"),
    maxlength: 400,
  });
  const form = h("form", {
    role: "search",
    onsubmit: (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      if (query.value.trim()) location.hash = `#/search?${new URLSearchParams({ q: query.value.trim() })}`;
    },
  }, query, h("button", { type: "submit", "aria-label": t("search.button") }, icon("search")));
  const themeIcon = h("span", {});
  const showTheme = () => fill(themeIcon, icon(isDark() ? "sun" : "moon"));
  showTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  const offline = h("p", { class: "offline", role: "status", hidden: true }, t("app.offline"));
  live.listen({ connected: (connected) => set(offline, "hidden", connected) });
  const header = h("header", {},
    h("a", { class: "skip", href: "#content", onclick: skip }, t("app.skip")),
    h("a", { class: "brand", href: "#/" }, h("img", { src: "static/icon.svg", alt: "", width: 26, height: 26 }),
      h("span", {}, t("app.name"))),
    form,
    h("nav", {},
      h("a", { class: "tool", href: "queue/", title: t("app.queue.title") }, icon("queue"), h("span", {}, t("app.queue"))),
      h("button", { type: "button", class: "tool", title: t("app.language.title"), lang: t("app.language") === "English" ? "en" : "zh",
        onclick: switchLanguage }, t("app.language")),
      h("button", { type: "button", class: "tool", "aria-label": t("app.theme"), title: t("app.theme"),
        onclick: () => { switchTheme(); showTheme(); } }, themeIcon)));
  const element = h("div", { class: "top" }, header, offline);
  return {
    element,
    /** @param {string} text */
    showQuery(text) {
      query.value = text;
    },
  };
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault(); // the hash of the address is the page
  document.querySelector("h1")?.focus();
}

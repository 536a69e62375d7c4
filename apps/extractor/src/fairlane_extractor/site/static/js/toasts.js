// Short messages at the bottom of the page, which screen readers read out.

import { h } from "./dom.js";

const SHOWN_MILLISECONDS = 6000;
const area = h("div", { class: "toasts", role: "status", "aria-live": "polite" });

/** @param {Element} body */
export function addToasts(body) {
  body.append(area);
}

/**
 * @param {string} text
 * @param {"good" | "bad"} [look]
 */
export function toast(text, look = "good") {
  const shown = h("p", { class: `toast ${look}` }, text);
  area.append(shown);
  setTimeout(() => shown.remove(), SHOWN_MILLISECONDS);
}

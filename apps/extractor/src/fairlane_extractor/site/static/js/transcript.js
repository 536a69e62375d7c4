// The text with its times: choosing a line seeks, and the line that is played is marked.

import { clock } from "./format.js";
import { h, set, write } from "./dom.js";
import { t } from "./words.js";

/** @typedef {import("./types.js").Line} Line */

/**
 * @param {Line[]} lines in the order of their times
 * @param {(seconds: number) => void} seek
 */
export function transcript(lines, seek) {
  const items = lines.map((line, index) => lineItem(line, lines[index - 1], index));
  const list = h("ol", { class: "lines" }, ...items);
  const found = h("span", { class: "found", role: "status" });
  const find = h("input", {
    type: "search", placeholder: t("task.find"), "aria-label": t("task.find"), maxlength: 200,
    oninput: () => filter(find.value),
  });
  const follow = h("input", { type: "checkbox", checked: true });
  const element = h(
    "section",
    { class: "transcript", "aria-label": t("task.text") },
    h("div", { class: "toolbar" }, find, found,
      h("label", { class: "check" }, follow, h("span", {}, t("task.follow")))),
    list,
  );
  let current = -1;

  list.onclick = (event) => {
    const item = event.target instanceof Element ? event.target.closest("li") : null;
    const line = lines[Number(item?.dataset.line)];
    if (line && !getSelection()?.toString()) seek(line.start);
  };

  /** @param {string} text */
  function filter(text) {
    const wanted = text.trim().toLowerCase();
    let n = 0;
    lines.forEach((line, index) => {
      const matches = line.text.toLowerCase().includes(wanted);
      n += Number(matches);
      set(/** @type {Element} */ (items[index]), "hidden", !matches);
    });
    write(found, wanted ? t("task.found", { n }) : "");
  }

  /** @param {number} index */
  function mark(index) {
    if (index === current) return;
    items[current]?.removeAttribute("aria-current");
    current = index;
    items[index]?.setAttribute("aria-current", "true");
  }

  /** @param {number} index */
  function reveal(index) {
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    items[index]?.scrollIntoView({ block: "center", behavior });
  }

  return {
    element,
    /**
     * @param {number} seconds
     * @param {{isPlaying: boolean}} playback
     */
    showTime(seconds, { isPlaying }) {
      const before = current;
      mark(lineAt(lines, seconds));
      if (isPlaying && follow.checked && current !== before && !find.value) reveal(current);
    },
    /** @param {number} seconds */
    reveal(seconds) {
      mark(lineAt(lines, seconds));
      reveal(current);
    },
  };
}

/**
 * @param {Line} line
 * @param {Line | undefined} before
 * @param {number} index
 */
function lineItem(line, before, index) {
  const time = clock(line.start);
  const begins = before !== undefined && before.paragraph !== line.paragraph;
  const unsure = line.confidence !== null && line.confidence < 0.7;
  return h(
    "li",
    { "data-line": index, class: begins ? "begins" : null },
    h("button", { type: "button", class: "time", "aria-label": t("task.play", { time }) }, time),
    h("p", { class: unsure ? "unsure" : null, lang: line.language,
      title: line.confidence === null ? null : t("task.confidence", { percent: Math.round(line.confidence * 100) }) },
      line.text),
    h("span", { class: "sources" },
      ...line.sources.map((source) => h("span", { class: `source ${source}` }, t(`source.${source}`)))),
  );
}

/**
 * Return the index of the line that is played, or that was last; -1 before the first.
 * @param {Line[]} lines
 * @param {number} seconds
 */
export function lineAt(lines, seconds) {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {Line} */ (lines[middle]).start <= seconds + 0.05) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

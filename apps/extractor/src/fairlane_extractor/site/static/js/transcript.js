// The text with its times: choosing a line seeks, and the line that is played is marked.

import { clock } from "./format.js";
import { h, set, write } from "./dom.js";
import { t } from "./words.js";

/** @typedef {import("./types.js").Line} Line */

const LONGEST_SECONDS = 20;

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
  /** @type {number[]} */
  let current = []; // the lines that are played, such as one that is said and one that is shown

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

  /** @param {number[]} indexes */
  function mark(indexes) {
    for (const index of current)
      if (!indexes.includes(index)) items[index]?.removeAttribute("aria-current");
    for (const index of indexes) items[index]?.setAttribute("aria-current", "true");
    current = indexes;
  }

  function reveal() {
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    items[current.at(-1) ?? -1]?.scrollIntoView({ block: "center", behavior });
  }

  return {
    element,
    /**
     * @param {number} seconds
     * @param {{isPlaying: boolean}} playback
     */
    showTime(seconds, { isPlaying }) {
      const before = current.at(-1);
      mark(linesAt(lines, seconds));
      if (isPlaying && follow.checked && current.at(-1) !== before && !find.value) reveal();
    },
    /** @param {number} seconds */
    reveal(seconds) {
      mark(linesAt(lines, seconds));
      reveal();
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
 * Return the indexes of the lines that are played, or of the last one before.
 * @param {Line[]} lines
 * @param {number} seconds
 */
export function linesAt(lines, seconds) {
  const last = lastBegun(lines, seconds);
  const played = [];
  for (let index = 0; index <= last; index += 1) {
    const { start, end } = /** @type {Line} */ (lines[index]);
    // A text that stands in the picture for long, such as a name in a corner, is not the place.
    if (seconds < end && end - start <= LONGEST_SECONDS) played.push(index);
  }
  return played.length || last < 0 ? played : [last];
}

/**
 * Return the index of the last line that has begun; -1 before the first.
 * @param {Line[]} lines
 * @param {number} seconds
 */
function lastBegun(lines, seconds) {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {Line} */ (lines[middle]).start <= seconds + 0.05) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

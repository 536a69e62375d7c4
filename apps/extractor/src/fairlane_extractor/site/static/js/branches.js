// What each part of an extraction gave, and why another one gave no text.

import { h } from "./dom.js";
import { coded, t } from "./words.js";

/** @param {import("./types.js").Branch[]} branches */
export function branchTable(branches) {
  return h(
    "section",
    { class: "parts" },
    h("h2", {}, t("parts.title")),
    h("dl", {}, ...branches.flatMap(({ name, status, method, segments, code, reason }) => [
      h("dt", {}, t(`branch.name.${name}`), h("span", { class: `badge ${status}` }, t(`branch.${status}`))),
      h("dd", {},
        [method, status === "used" ? t("branch.segments", { n: segments }) : "", coded("reason", code, reason)]
          .filter(Boolean).join(" · ")),
    ])),
  );
}

// New tasks: pasted links, chosen and dropped files, and options.

import { createTasks, Problem } from "./api.js";
import { h, icon, set, write } from "./dom.js";
import { countOthers, inputsIn, withoutInputs } from "./inputs.js";
import { toast } from "./toasts.js";
import { uploadArea } from "./uploads.js";
import { coded, t } from "./words.js";

/** @typedef {import("./types.js").Task} Task */

/**
 * @param {(task: Task) => void} created
 * @param {AbortSignal} signal
 */
export function composer(created, signal) {
  const speech = choice("new.speech", [["auto", "wish.auto.speech"], ["always", "wish.always"], ["never", "wish.never"]]);
  const frames = choice("new.frames", [["auto", "wish.auto"], ["always", "wish.always"], ["never", "wish.never"]]);
  const spoken = choice("new.language", [["", "new.language.any"], ["en", "English"], ["zh", "中文"], ["ja", "日本語"], ["ko", "한국어"], ["de", "Deutsch"], ["fr", "Français"], ["es", "Español"]]);
  const media = choice("new.media", [["", "media.default"], ["keep", "media.keep"], ["remove", "media.remove"]]);
  const options = () => ({
    speech: speech.value(),
    frames: frames.value(),
    language: spoken.value() || null,
    media: media.value() || null,
  });

  const uploads = uploadArea(options, created);
  const links = h("textarea", {
    id: "links", rows: 3, "aria-describedby": "links-problem", placeholder: t("new.placeholder"), spellcheck: "false",
    autocapitalize: "off", maxlength: 200_000,
  });
  const found = h("span", { class: "found", role: "status" });
  const problem = h("p", { id: "links-problem", class: "problem", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "primary" }, t("new.submit"));
  const chooser = h("input", {
    type: "file", multiple: true, hidden: true, accept: "video/*,audio/*,.srt,.vtt,.ass,.ssa,.mkv",
    onchange: () => {
      uploads.add([...(chooser.files ?? [])]);
      chooser.value = "";
    },
  });
  const choose = h("button", { type: "button", onclick: () => chooser.click() },
    icon("file"), h("span", {}, t("new.choose")));

  function count() {
    const n = inputsIn(links.value).length;
    write(found, n ? t("new.found", { n }) : "");
    links.rows = Math.min(10, Math.max(3, links.value.split("\n").length));
    tell("");
  }

  /** @param {string} text */
  function tell(text) {
    write(problem, text);
    set(problem, "hidden", !text);
  }
  links.oninput = count;
  links.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  };

  /** @param {SubmitEvent} event */
  async function onsubmit(event) {
    event.preventDefault();
    const inputs = inputsIn(links.value);
    if (submit.ariaDisabled === "true") return;
    if (!inputs.length) {
      tell(links.value.trim() && t("new.no_link"));
      links.focus();
      return;
    }
    submit.ariaDisabled = "true";
    try {
      const { items } = await createTasks(inputs, options());
      links.value = withoutInputs(links.value, inputs);
      count();
      const n = countOthers(links.value);
      tell(n ? t("new.kept", { n }) : "");
      items.forEach(created);
      toast(t("new.created", { n: items.length }));
    } catch (error) {
      const code = error instanceof Problem ? error.code : "";
      tell(coded("error", code, error instanceof Error ? error.message : ""));
    } finally {
      submit.ariaDisabled = null;
    }
  }

  const form = h(
    "form",
    { class: "composer", onsubmit },
    h("label", { for: "links", class: "spoken" }, t("new.links")),
    links, problem,
    h("div", { class: "controls" },
      h("div", { class: "files" }, choose, chooser, h("span", { class: "hint" }, t("new.or_drop"))),
      h("div", { class: "submit" }, found, submit)),
    uploads.element,
    h("details", {}, h("summary", {}, t("new.options")),
      h("div", { class: "options" }, speech.element, frames.element, spoken.element, media.element)),
  );
  acceptDrops(uploads.add, signal);
  return form;
}

/**
 * @param {string} word
 * @param {[string, string][]} choices
 */
function choice(word, choices) {
  const select = h("select", {}, ...choices.map(([value, text]) => h("option", { value }, t(text))));
  return { element: h("label", {}, h("span", {}, t(word)), select), value: () => select.value };
}

/**
 * Accept files that are dropped anywhere on the page.
 * @param {(files: File[]) => void} add
 * @param {AbortSignal} signal
 */
function acceptDrops(add, signal) {
  const veil = h("div", { class: "veil", hidden: true }, h("p", {}, t("new.drop")));
  document.body.append(veil);
  signal.addEventListener("abort", () => veil.remove());
  const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  /** @type {(name: "dragenter" | "dragover" | "dragleave" | "drop", act: (event: DragEvent) => void) => void} */
  const on = (name, act) =>
    addEventListener(name, (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      act(event);
    }, { signal });
  on("dragenter", () => set(veil, "hidden", false));
  on("dragover", () => {});
  on("dragleave", (event) => {
    if (event.relatedTarget === null) set(veil, "hidden", true);
  });
  on("drop", (event) => {
    set(veil, "hidden", true);
    add([...(event.dataTransfer?.files ?? [])]);
  });
}

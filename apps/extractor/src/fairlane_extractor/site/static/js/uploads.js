// Files that are dropped or chosen: each media is uploaded with its subtitles, and becomes a task.

import { createTasks, Problem, signIn } from "./api.js";
import { h, icon } from "./dom.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

const SUBTITLES = /(\.[a-z]{2,3}(-[a-z0-9]+)?)?\.(srt|vtt|ass|ssa)$/i;

/** @param {string} name */
const stem = (name) => name.replace(/\.[^.]*$/, "");

/**
 * Group files: each media with the subtitles that begin with its name.
 * @param {File[]} files
 */
export function groupFiles(files) {
  const media = files.filter((file) => !SUBTITLES.test(file.name));
  const tracks = files.filter((file) => SUBTITLES.test(file.name));
  const groups = media.map((file) => ({
    file,
    tracks: tracks.filter((track) => track.name.replace(SUBTITLES, "") === stem(file.name)),
  }));
  const used = new Set(groups.flatMap((group) => group.tracks));
  return { groups, alone: tracks.filter((track) => !used.has(track)) };
}

/**
 * @param {() => object} options of the tasks
 * @param {(task: import("./types.js").Task) => void} created
 */
export function uploadArea(options, created) {
  const element = h("ul", { class: "uploads" });
  let last = Promise.resolve(); // one upload at a time: they share one connection

  /** @param {File[]} files */
  function add(files) {
    const { groups, alone } = groupFiles(files);
    for (const track of alone) toast(t("upload.no_media", { name: track.name }), "bad");
    for (const { file, tracks } of groups) {
      const row = uploadRow(file.name);
      element.append(row.element);
      last = last.then(() => uploadGroup(file, tracks, row)).finally(() => row.element.remove());
    }
  }

  /**
   * @param {File} file
   * @param {File[]} tracks
   * @param {ReturnType<typeof uploadRow>} row
   */
  async function uploadGroup(file, tracks, row) {
    try {
      const stored = await upload(file, file.name, row);
      for (const track of tracks) {
        // The name of the stored media may differ, and its subtitles are found by their name.
        const suffix = track.name.slice(stem(file.name).length);
        await upload(track, stem(stored.name) + suffix, row);
      }
      const { items } = await createTasks([stored.path], options());
      items.forEach(created);
    } catch (error) {
      if (row.signal.aborted) return;
      const why = error instanceof Error ? error.message : "";
      toast(t("upload.failed", { name: file.name, why }), "bad");
    }
  }

  return { element, add };
}

/** @param {string} name */
function uploadRow(name) {
  const abort = new AbortController();
  const bar = h("progress", { max: 100, value: 0, "aria-label": t("upload.progress", { name }) });
  const cancel = h(
    "button",
    { type: "button", "aria-label": t("upload.cancel", { name }), onclick: () => abort.abort() },
    icon("cancel"),
  );
  const element = h("li", {}, h("span", { class: "name" }, name), bar, cancel);
  return { element, bar, signal: abort.signal };
}

/**
 * @param {File} file
 * @param {string} name
 * @param {ReturnType<typeof uploadRow>} row
 * @returns {Promise<{path: string, name: string}>}
 */
function upload(file, name, row) {
  return new Promise((resolve, reject) => {
    if (row.signal.aborted) return reject(new Problem(0, "cancelled", ""));
    const sending = new XMLHttpRequest(); // `fetch` reports no progress of an upload
    sending.open("POST", `queue/api/files?${new URLSearchParams({ name })}`);
    sending.responseType = "json";
    sending.setRequestHeader("Content-Type", "application/octet-stream");
    sending.upload.onprogress = ({ loaded, total }) => {
      row.bar.value = total ? (100 * loaded) / total : 0;
    };
    sending.onload = () => {
      const { status, response } = sending;
      if (status === 201) return resolve(response);
      if (status === 401) signIn();
      reject(new Problem(status, response?.code ?? "error", response?.detail ?? String(status)));
    };
    sending.onerror = () => reject(new Problem(0, "unreachable", t("upload.cut_off")));
    sending.onabort = () => reject(new Problem(0, "cancelled", ""));
    row.signal.addEventListener("abort", () => sending.abort());
    sending.send(file);
  });
}

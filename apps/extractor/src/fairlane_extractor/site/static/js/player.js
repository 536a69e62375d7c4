// The media of a task beside its text.

import { captionsAddress, mediaAddress } from "./api.js";
import { h, set } from "./dom.js";
import { language, t } from "./words.js";

/**
 * @param {string} id
 * @param {(seconds: number) => void} onTime the place of the playback, a few times a second
 */
export function player(id, onTime) {
  const note = h("p", { class: "note", hidden: true }, t("task.unplayable"));
  const track = h("track", {
    kind: "captions", src: captionsAddress(id), srclang: language, label: t("task.text"),
  });
  const video = h("video", {
    controls: true, preload: "metadata", playsinline: true, src: mediaAddress(id),
    "aria-label": t("task.media"),
  }, track);
  const element = h("div", { class: "player" }, video, note);
  /** @type {number | null} */
  let wanted = null; // a place chosen before the media could be played
  video.ontimeupdate = () => onTime(video.currentTime);
  video.onseeked = () => onTime(video.currentTime);
  video.onerror = () => {
    set(note, "hidden", false);
    set(video, "hidden", true);
  };
  video.onloadedmetadata = () => {
    set(element, "class", video.videoWidth ? "player" : "player sound");
    if (wanted !== null) video.currentTime = wanted;
    wanted = null;
  };
  return {
    element,
    isPlaying: () => !video.paused,
    /**
     * Go to a place and, if the user has chosen it, play from there.
     * @param {number} seconds
     * @param {{plays: boolean}} options
     */
    seek(seconds, { plays }) {
      if (video.readyState < 1) wanted = seconds;
      else video.currentTime = seconds;
      if (plays) void video.play().catch(() => {}); // the browser may not allow it yet
    },
  };
}

// Times and sizes as text.

import { locale } from "./words.js";

/**
 * Return a time of a media, such as 1:02:03.
 * @param {number} seconds
 */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });

/** @param {string | number | null | undefined} at an ISO time, or seconds since 1970 */
export function instant(at) {
  if (at === null || at === undefined) return "";
  const date = new Date(typeof at === "number" ? at * 1000 : at);
  return Number.isNaN(date.getTime()) ? "" : moment.format(date);
}

/** @param {number} n */
export const count = (n) => new Intl.NumberFormat(locale).format(n);

/**
 * Return the last part of a path, and a link without its scheme.
 * @param {string} input
 */
export function shortInput(input) {
  if (/^https?:\/\//i.test(input)) return input.replace(/^https?:\/\/(www\.)?/i, "");
  return input.split("/").pop() || input;
}

// The texts of the page in each language.

import { chineseMessage } from "./messages_zh.js";
import { en } from "./words_en.js";
import { zh } from "./words_zh.js";

const KEY = "fairlane.language"; // the console has the same
/** @type {Record<"en" | "zh", Record<string, string>>} */
const LANGUAGES = { en, zh };
const REMEDY = /FAIRLANE_EXTRACT_\w+=[^\s,;]+/;

/** @returns {"en" | "zh"} */
function initial() {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = initial();
export const locale = language === "zh" ? "zh-CN" : "en-GB";
document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";

/** Show the page in the other language. */
export function switchLanguage() {
  localStorage.setItem(KEY, language === "zh" ? "en" : "zh");
  location.reload();
}

/**
 * Return a text. `{name}` in it is replaced; with `n`, "one|many" has two forms.
 * @param {string} key
 * @param {Record<string, string | number>} [facts]
 */
export function t(key, facts = {}) {
  const text = LANGUAGES[language][key] ?? en[key] ?? key;
  const [one = "", many = one] = text.split("|");
  return (facts.n === 1 ? one : many).replace(/\{(\w+)\}/g, (_, name) => String(facts[name] ?? ""));
}

/**
 * Return a message of the server, in the language of the page if its form is known.
 * @param {string | null | undefined} message
 */
export function told(message) {
  return language === "zh" ? chineseMessage(message ?? "") : message ?? "";
}

/**
 * Return the error of a task.
 * @param {import("./types.js").Task} task
 */
export function errorText({ error, platform }) {
  if (!error || language === "en") return error?.message ?? "";
  const ofFile = platform === "local" ? LANGUAGES[language][`error.${error.code}.local`] : undefined;
  // Without any text, the reason of a part becomes the error of its task.
  const text = ofFile ?? coded("error", error.code, coded("reason", error.code, error.message));
  const remedy = error.message.match(REMEDY)?.[0];
  return remedy && !text.includes(remedy) ? `${text}。${t("remedy.setting", { remedy })}` : text;
}

/** @param {string} platform */
export const platformText = (platform) => coded("platform", platform, platform);

/**
 * Return the translation of a stable code of the server, or its own message.
 * @param {string} kind
 * @param {string | null | undefined} code
 * @param {string | null | undefined} message
 */
export function coded(kind, code, message) {
  const translated = language === "en" ? undefined : LANGUAGES[language][`${kind}.${code}`];
  return translated ?? message ?? "";
}

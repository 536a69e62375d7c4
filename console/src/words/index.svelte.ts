// The texts of the console in each language.
//
// Each file holds the texts of one page in every language; the types check that a translation is
// complete.

import { setDurationLanguage } from "../time/format";
import * as files from "./files";
import * as history from "./history";
import * as insights from "./insights";
import * as job from "./job";
import * as lanes from "./lanes";
import * as newjob from "./newjob";
import * as queue from "./queue";
import { type Facts, fill } from "./fill";
import * as schedules from "./schedules";
import * as shell from "./shell";
import * as states from "./states";
import * as workers from "./workers";

const en = {
  ...shell.en, ...states.en, ...queue.en, ...job.en, ...newjob.en, ...lanes.en,
  ...schedules.en, ...workers.en, ...history.en, ...insights.en,
  ...files.en,
};
export type Word = keyof typeof en;

const zh: Record<Word, string> = {
  ...shell.zh, ...states.zh, ...queue.zh, ...job.zh, ...newjob.zh, ...lanes.zh,
  ...schedules.zh, ...workers.zh, ...history.zh, ...insights.zh,
  ...files.zh,
};

const LANGUAGES = { en, zh } as const;
export type Language = keyof typeof LANGUAGES;
export const NAMES: Record<Language, string> = { en: "English", zh: "中文" };

const STORAGE_KEY = "fairlane.language";

function initial(): Language {
  const chosen = localStorage.getItem(STORAGE_KEY);
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

class Words {
  #language: Language = $state(initial());

  get language(): Language {
    return this.#language;
  }

  /** The locale of dates and numbers. */
  get locale(): string {
    return this.#language === "zh" ? "zh-CN" : "en-GB";
  }

  choose(language: Language): void {
    this.#language = language;
    localStorage.setItem(STORAGE_KEY, language);
    this.applied();
  }

  /** Set the language of the document, which screen readers use. */
  applied(): void {
    document.documentElement.lang = this.locale;
  }
}

export const words = new Words();
setDurationLanguage(() => words.language);

/** Return a text in the selected language; a component that reads it follows the language. */
export function t(word: Word, facts?: Facts): string {
  return fill(LANGUAGES[words.language][word], facts);
}

/** Return a text if the key exists; a newer server may send codes without one. */
export function tOr(word: string, otherwise: string, facts?: Facts): string {
  return word in en ? t(word as Word, facts) : otherwise;
}

const numbers: Record<string, Intl.NumberFormat> = {};

/** Format a number in the selected language. */
export function number(value: number): string {
  return (numbers[words.locale] ??= new Intl.NumberFormat(words.locale)).format(value);
}

// What the console says, in the language of whoever reads it.
//
// Each file holds the words of one page in every language; that a translation is complete is
// checked by the types.

import { speak } from "../time/format";
import * as files from "./files";
import * as history from "./history";
import * as insights from "./insights";
import * as job from "./job";
import * as lanes from "./lanes";
import * as newjob from "./newjob";
import * as queue from "./queue";
import { type Facts, say } from "./say";
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

const KEPT = "fairlane.language";

function initial(): Language {
  const chosen = localStorage.getItem(KEPT);
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

class Words {
  #language: Language = $state(initial());

  get language(): Language {
    return this.#language;
  }

  /** As dates and numbers are written. */
  get locale(): string {
    return this.#language === "zh" ? "zh-CN" : "en-GB";
  }

  choose(language: Language): void {
    this.#language = language;
    localStorage.setItem(KEPT, language);
    this.applied();
  }

  /** Tell the document, and so screen readers, which language it is in. */
  applied(): void {
    document.documentElement.lang = this.locale;
  }
}

export const words = new Words();
speak(() => words.language);

/** Say a word; read where it is shown, it changes with the language. */
export function t(word: Word, facts?: Facts): string {
  return say(LANGUAGES[words.language][word], facts);
}

/** Say a word if there is one by this name, such as a code that the server may add one day. */
export function tOr(word: string, otherwise: string, facts?: Facts): string {
  return word in en ? t(word as Word, facts) : otherwise;
}

const numbers: Record<string, Intl.NumberFormat> = {};

/** Write a number as the language does. */
export function number(value: number): string {
  return (numbers[words.locale] ??= new Intl.NumberFormat(words.locale)).format(value);
}

// The entries of a job's menu.

import type { JobState, Priority } from "../api/types";
import type { Choice } from "../parts/Menu.svelte";
import { router } from "../shell/router.svelte";
import { session } from "../shell/session.svelte";
import { toasts } from "../shell/toasts.svelte";
import { t } from "../words/index.svelte";
import { move, prioritize, rerun, retry, skip, startNow } from "./actions";
import { can } from "./verbs";

export interface Subject {
  readonly id: string;
  readonly task: string;
  readonly state: JobState;
  readonly position: string | null;
  readonly priority: Priority;
}

const PRIORITIES = ["high", "normal", "low"] as const;

/** Return all actions that the state of a job allows; cancelling opens a dialog first. */
export function choicesFor(job: Subject, oncancel: () => void): Choice[] {
  const choices: Choice[] = [];
  if (job.state === "queued" && can(job, "move"))
    choices.push({ text: t("action.start_now"), icon: "bolt", act: () => void startNow(job) });
  if (can(job, "move")) {
    choices.push(
      { text: t("action.move_head"), icon: "top", act: () => void move(job.id, { to: "head" }) },
      { text: t("action.move_tail"), icon: "bottom", act: () => void move(job.id, { to: "tail" }) },
    );
  }
  if (can(job, "priority")) {
    for (const priority of PRIORITIES) {
      choices.push({
        text: t(`action.to_${priority}`),
        checked: job.priority === priority,
        apart: priority === "high",
        act: () => void prioritize([job.id], priority),
      });
    }
  }
  if (can(job, "retry")) {
    choices.push(
      { text: t("action.retry_head"), icon: "retry", act: () => void retry(job.id, "head") },
      { text: t("action.retry_tail"), icon: "retry", act: () => void retry(job.id, "tail") },
    );
  }
  if (can(job, "rerun"))
    choices.push(
      { text: t("action.rerun"), icon: "again", act: () => void rerun(job.id) },
      {
        text: t("action.edit_rerun"),
        icon: "edit",
        disabled: !session.mayOperate,
        act: () => router.go(["new"], { task: job.task, like: job.id }),
      },
    );
  choices.push({ text: t("action.copy_id"), icon: "copy", apart: true, act: () => copy(job.id) });
  if (can(job, "skip"))
    choices.push({ text: t("action.skip"), icon: "skip", act: () => void skip(job.id) });
  if (can(job, "cancel"))
    choices.push({ text: `${t("action.cancel")}…`, icon: "close", danger: true, act: oncancel });
  return choices;
}

function copy(text: string): void {
  void navigator.clipboard?.writeText(text).then(() => toasts.done(t("common.copied")));
}

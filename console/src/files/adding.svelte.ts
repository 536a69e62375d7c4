// Files that become jobs. Several files are uploaded at a time, but jobs are submitted in the order
// of the files: an uploaded file waits for the files before it. The upload continues while the user
// visits other pages.

import { submitMany } from "../api/calls";
import { asProblem, type Problem } from "../api/problem";
import type { Submission } from "../api/types";
import { href, jobHref } from "../shell/router.svelte";
import { toasts } from "../shell/toasts.svelte";
import { number, t } from "../words/index.svelte";
import { Upload } from "./upload.svelte";
import type { Params } from "./options";
import type { Target } from "./targets";

const AT_ONCE = 3;
const TOGETHER = 50;

class Addition {
  readonly upload: Upload;
  readonly target: Target;
  readonly options: Params;
  /** The job that was submitted for the file. */
  job: string | null = null;

  constructor(file: File, target: Target, options: Params) {
    this.upload = new Upload(file);
    this.target = target;
    this.options = options;
  }
}

export interface Failed {
  readonly name: string;
  readonly problem: Problem;
}

class Adding {
  total = $state(0);
  /** The number of finished files, successful or not. */
  settled = $state(0);
  active: readonly Upload[] = $state.raw([]);
  failed: readonly Failed[] = $state.raw([]);
  #bytes = $state(0);
  #bytesOver = $state(0);
  #items: Addition[] = [];
  #begun = 0;
  #lines = 0;
  #isSubmitting = false;

  get isBusy(): boolean {
    return this.settled < this.total;
  }

  get percent(): number {
    const gone = this.active.reduce((sum, { sent }) => sum + sent, this.#bytesOver);
    return this.#bytes === 0 ? 0 : (100 * gone) / this.#bytes;
  }

  add(files: readonly File[], target: Target, options: Params): void {
    if (!this.isBusy) this.clear();
    this.#items.push(...files.map((file) => new Addition(file, target, options)));
    this.total = this.#items.length;
    this.#bytes += files.reduce((sum, file) => sum + file.size, 0);
    addEventListener("beforeunload", warn);
    for (let line = this.#lines; line < AT_ONCE; line += 1) void this.#send();
  }

  /** Stop the uploads; submitted jobs stay. */
  stop(): void {
    for (const { upload } of this.#items) upload.stop();
  }

  clear(): void {
    this.#items = [];
    this.failed = [];
    this.total = this.settled = this.#begun = this.#bytes = this.#bytesOver = 0;
  }

  /** Upload files one after the other; several of these loops run at a time. */
  async #send(): Promise<void> {
    this.#lines += 1;
    for (let next; (next = this.#items[this.#begun]); ) {
      const { upload } = next;
      this.#begun += 1;
      this.active = [...this.active, upload];
      await upload.start();
      this.active = this.active.filter((one) => one !== upload);
      this.#bytesOver += upload.file.size;
      if (upload.problem) this.#fail(next, upload.problem);
      void this.#submit();
    }
    this.#lines -= 1;
  }

  /** Submit the uploaded files up to the first file that is not finished. */
  async #submit(): Promise<void> {
    if (this.#isSubmitting) return;
    this.#isSubmitting = true;
    for (let next; (next = this.#next()).length > 0; ) {
      const sent = next.filter((one) => one.upload.path !== null);
      if (sent.length > 0) await this.#become(sent);
      this.settled += next.length;
    }
    this.#isSubmitting = false;
    if (this.total > 0 && !this.isBusy) this.#finish();
  }

  #next(): readonly Addition[] {
    const next = this.#items.slice(this.settled, this.settled + TOGETHER);
    const waiting = next.findIndex((one) => !one.upload.isOver);
    return waiting < 0 ? next : next.slice(0, waiting);
  }

  /** Submit the jobs as one batch, or one by one if the server refuses the batch. */
  async #become(sent: readonly Addition[]): Promise<void> {
    try {
      const made = await submitMany(sent.map(submissionOf));
      sent.forEach((one, index) => (one.job = made.jobs[index]?.id ?? null));
    } catch (error) {
      const problem = asProblem(error);
      // If no response arrived, the server may still have stored the jobs.
      if (sent.length === 1 || problem.isPassing)
        for (const one of sent) this.#fail(one, problem);
      else for (const one of sent) await this.#become([one]);
    }
  }

  #fail({ upload }: Addition, problem: Problem): void {
    this.failed = [...this.failed, { name: upload.file.name, problem }];
  }

  #finish(): void {
    removeEventListener("beforeunload", warn);
    const made = this.#items.filter((one) => one.job !== null);
    if (made.length > 0) {
      const text = t("files.added", { n: number(made.length) });
      toasts.done(text, { href: linkTo(made), text: t("new.show") });
    }
    if (this.failed.length === 0) this.clear();
  }
}

function submissionOf({ target, options, upload }: Addition): Submission {
  const params = { ...options, [target.parameter]: upload.path };
  return { task: target.task, params } as unknown as Submission;
}

function linkTo(made: readonly Addition[]): string {
  const [first] = made;
  if (made.length === 1 && first?.job) return jobHref(first.job);
  return href(["queue"], { queue: first?.target.queue });
}

const warn = (event: BeforeUnloadEvent): void => event.preventDefault();

export const adding = new Adding();

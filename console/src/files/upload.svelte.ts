// The upload of one file.

import { uploadFile } from "../api/files";
import { asProblem, Problem } from "../api/problem";
import { feed } from "../live/feed.svelte";
import { t } from "../words/index.svelte";
import { sizeText } from "../words/size";

export type Fate = "waiting" | "sending" | "sent" | "failed" | "stopped";

export class Upload {
  readonly file: File;
  fate: Fate = $state("waiting");
  /** The number of uploaded bytes. */
  sent = $state(0);
  /** The path of the file on the server. */
  path: string | null = $state(null);
  problem: Problem | null = $state.raw(null);
  #stop = new AbortController();

  constructor(file: File) {
    this.file = file;
  }

  get percent(): number {
    return this.file.size === 0 ? 0 : (100 * this.sent) / this.file.size;
  }

  get isOver(): boolean {
    return this.fate !== "waiting" && this.fate !== "sending";
  }

  /** Upload the file; the result is in `fate`. */
  async start(): Promise<void> {
    if (this.fate !== "waiting") return;
    this.fate = "sending";
    try {
      await check(this.file);
      const { signal } = this.#stop;
      const { path } = await uploadFile(this.file, (bytes) => (this.sent = bytes), signal);
      this.path = path;
      this.fate = "sent";
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.problem = asProblem(error);
      this.fate = "failed";
    }
  }

  stop(): void {
    if (this.isOver) return;
    this.fate = "stopped";
    this.#stop.abort();
  }
}

/** Check a file before the first byte is uploaded. */
async function check(file: File): Promise<void> {
  const largest = feed.live.largestUpload ?? 0;
  if (file.size > largest)
    throw problem("too_large", t("files.too_large", { size: sizeText(largest) }));
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw problem("unreadable", t("files.unreadable")); // deleted, not readable, or a folder
  }
}

const problem = (code: string, detail: string) => new Problem({ status: 0, code, detail });

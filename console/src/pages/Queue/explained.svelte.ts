// Requests the reason of visible jobs whose reason the live state does not hold, at a slow rate.

import type { Explanation, Reason } from "../../api/types";

const EVERY_MS = 4_000;
const MOST = 12;

export class Explained {
  #reasons: ReadonlyMap<string, readonly Reason[]> = $state.raw(new Map());
  #wanted: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #request: (id: string) => Promise<Explanation>;

  constructor(request: (id: string) => Promise<Explanation>) {
    this.#request = request;
  }

  of(id: string): readonly Reason[] | undefined {
    return this.#reasons.get(id);
  }

  want(ids: readonly string[]): void {
    this.#wanted = ids.slice(0, MOST);
    if (this.#wanted.length > 0) this.#timer ??= setTimeout(() => void this.#run(), 300);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#wanted = [];
  }

  async #run(): Promise<void> {
    const found = await Promise.all(
      this.#wanted.map((id) => this.#request(id).then((explanation) => [id, explanation.reasons] as const, () => null)),
    );
    this.#reasons = new Map(found.filter((one) => one !== null));
    this.#timer = undefined;
    if (this.#wanted.length > 0) this.#timer = setTimeout(() => void this.#run(), EVERY_MS);
  }
}

// The access of this session: full, read-only, or signed out.

import { readSession, signIn, signOut } from "../api/calls";
import type { Session } from "../api/types";
import { feed } from "../live/feed.svelte";
import { returnToSite } from "./site";

class SessionState {
  #session: Session | null = $state(null);

  get mayOperate(): boolean {
    return this.#session === null || this.#session.role === "operate";
  }

  /** A session exists that can be signed out. */
  get hasToken(): boolean {
    return this.#session?.token_needed === true && this.#session.role !== null;
  }

  async read(): Promise<void> {
    try {
      this.#session = await readSession();
      if (this.#session.role !== null) returnToSite();
    } catch {
      // The load of the state reports whether the server answers.
    }
  }

  async enter(token: string): Promise<void> {
    this.#session = await signIn(token);
    returnToSite();
    feed.start();
  }

  async leave(): Promise<void> {
    await signOut();
    this.#session = null;
    feed.signedOut();
  }
}

export const session = new SessionState();

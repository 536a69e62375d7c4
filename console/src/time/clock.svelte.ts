// One clock for the whole page, in the server's time: it ticks once a second, and only while
// somebody can see it.

class Clock {
  #now = $state(Date.now());
  #skew = 0;

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#tick();
    }, 1000);
    document.addEventListener("visibilitychange", () => this.#tick());
  }

  /** Milliseconds since 1970 by the server's clock, renewed every second. */
  get now(): number {
    return this.#now;
  }

  /** Take the server's word for what time it is; it says so to the second. */
  set(server: number): void {
    const skew = server + 500 - Date.now();
    this.#skew = Math.abs(skew) > 2_000 ? skew : 0;
  }

  #tick(): void {
    this.#now = Date.now() + this.#skew;
  }
}

export const clock = new Clock();

// One clock for the whole page, in the server's time. It ticks once a second while the page is
// visible.

class Clock {
  #now = $state(Date.now());
  #skew = 0;

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.#tick();
    }, 1000);
    document.addEventListener("visibilitychange", () => this.#tick());
  }

  /** Milliseconds since 1970 by the server's clock, updated every second. */
  get now(): number {
    return this.#now;
  }

  /** Set the server's time, which has a resolution of one second. */
  set(server: number): void {
    const skew = server + 500 - Date.now();
    this.#skew = Math.abs(skew) > 2_000 ? skew : 0;
  }

  #tick(): void {
    this.#now = Date.now() + this.#skew;
  }
}

export const clock = new Clock();

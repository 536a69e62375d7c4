// Times on the chart, in the zone and the language of the page.

const [HOUR, DAY] = [3600, 86_400] as const;
const MONTH = 28 * DAY;

export class Times {
  readonly #clock: Intl.DateTimeFormat;
  readonly #day: Intl.DateTimeFormat;
  readonly #month: Intl.DateTimeFormat;
  readonly #year: Intl.DateTimeFormat;
  readonly #instant: Intl.DateTimeFormat;
  readonly #wholeDay: Intl.DateTimeFormat;

  constructor(locale: string, timeZone: string) {
    const format = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
      new Intl.DateTimeFormat(locale, { timeZone, ...options });
    const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
    this.#clock = format(clock);
    this.#day = format({ day: "numeric", month: "short" });
    this.#month = format({ month: "short" });
    this.#year = format({ year: "numeric", month: "short" });
    // Swedish dates are those of ISO 8601, the form of all pages.
    const date = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
    this.#instant = new Intl.DateTimeFormat("sv-SE", { timeZone, ...date, ...clock });
    this.#wholeDay = new Intl.DateTimeFormat("sv-SE", { timeZone, ...date });
  }

  /** Return the label of a tick; `step` is the distance of two ticks in seconds. */
  tick(second: number, step: number): string {
    const at = new Date(second * 1000);
    const clock = this.#clock.format(at);
    if (step < DAY) return clock === "00:00" ? this.#day.format(at) : clock;
    if (step < MONTH) return this.#day.format(at);
    const month = this.#month.format(at);
    const isFirst = month === this.#month.format(new Date(Date.UTC(2026, 0, 15)));
    return isFirst ? this.#year.format(at) : month;
  }

  /** Return the date of a point, and its time; `step` is the distance of two points in seconds. */
  point(second: number, step: number): string {
    const at = new Date(second * 1000);
    return (step >= 20 * HOUR ? this.#wholeDay : this.#instant).format(at);
  }
}

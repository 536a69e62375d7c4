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
    this.#instant = format({ weekday: "short", day: "numeric", month: "short", ...clock });
    this.#wholeDay = format({ weekday: "short", day: "numeric", month: "short", year: "numeric" });
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

  /** Return a point in words; `step` is the distance of two points in seconds. */
  point(second: number, step: number): string {
    const at = new Date(second * 1000);
    return (step >= 20 * HOUR ? this.#wholeDay : this.#instant).format(at);
  }
}

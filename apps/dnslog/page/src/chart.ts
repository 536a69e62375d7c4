// The chart of queries per minute. Blocked queries are an area in front of all queries, so that the
// rest is the answered part; the share of blocked queries is a line with its axis at the right.

import uPlot from "uplot";
import { colour } from "./colours";
import { showLost } from "./connection";
import { repeat } from "./rounds";
import { Times } from "./times";

const SECONDS = 15;
const HEIGHT = 240;
const LOW_HEIGHT = 180; // on a phone
const NARROW = 560;

/** Start in epoch seconds, queries and blocked queries per minute, share blocked from 0 to 1. The
 * rates are null before the log begins. */
type Point = readonly [number, number | null, number | null, number | null];

interface Answer {
  readonly points: readonly Point[];
}

export function drawCharts(): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) new Chart(place);
}

class Chart {
  readonly #place: HTMLElement;
  readonly #times: Times;
  readonly #zone: string;
  readonly #locale: string;
  readonly #readout: HTMLElement | null;
  #points: readonly Point[] = [];
  #plot: uPlot | undefined;

  constructor(place: HTMLElement) {
    this.#place = place;
    this.#zone = place.dataset.zone ?? "UTC";
    this.#locale = place.dataset.locale ?? "en-GB";
    this.#times = new Times(this.#locale, this.#zone);
    this.#readout = document.getElementById("chart-readout");
    void this.#load();
    repeat(() => this.#load(), SECONDS);
    new ResizeObserver(() => this.#resize()).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  async #load(): Promise<void> {
    try {
      const answer = await fetch(this.#place.dataset.chart ?? "");
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      this.#points = ((await answer.json()) as Answer).points;
    } catch {
      showLost(true); // the points that are drawn stay
      return;
    }
    if (this.#plot) this.#plot.setData(this.#data());
    else this.#draw();
    this.#place.dataset.points = String(this.#points.length);
  }

  #draw(): void {
    this.#plot?.destroy();
    this.#plot = new uPlot(this.#options(), this.#data(), this.#place);
  }

  #resize(): void {
    const size = this.#size();
    if (this.#plot && size.width !== this.#plot.width) this.#plot.setSize(size);
  }

  #size(): { width: number; height: number } {
    const width = Math.max(this.#place.clientWidth, 200);
    return { width, height: width < NARROW ? LOW_HEIGHT : HEIGHT };
  }

  #data(): uPlot.AlignedData {
    const column = (index: 0 | 1 | 2 | 3) => this.#points.map((point) => point[index]);
    return [column(0), column(1), column(2), column(3)] as uPlot.AlignedData;
  }

  #options(): uPlot.Options {
    const axis = {
      stroke: colour("muted"),
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
      ticks: { show: false },
    };
    const spline = uPlot.paths.spline!();
    const area = (name: string, percent: number): uPlot.Series => ({
      stroke: colour(name),
      fill: colour(name, percent),
      width: 1.5,
      paths: spline,
      points: { show: () => this.#isShort(), size: 6 },
    });
    return {
      ...this.#size(),
      legend: { show: false },
      padding: [10, 4, 0, 0],
      tzDate: (second) => uPlot.tzDate(new Date(second * 1000), this.#zone),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        y: { range: (_, __, high) => [0, Math.max(1, high * 1.1)] },
        share: { range: [0, 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          gap: 6,
          space: 64,
          values: (_, at, __, ___, step) => at.map((second) => this.#times.tick(second, step)),
        },
        {
          ...axis,
          grid: { stroke: colour("line"), width: 1 },
          size: 44,
          gap: 6,
          space: 32,
          values: (_, at) => at.map((value) => this.#number(value)),
        },
        {
          ...axis,
          scale: "share",
          side: 1,
          grid: { show: false },
          size: 46,
          gap: 6,
          space: 32,
          values: (_, at) => at.map((value) => this.#percent(value, 0)),
        },
      ],
      series: [
        {},
        area("accent", 22),
        area("bad", 38),
        {
          scale: "share",
          stroke: colour("later", 80),
          width: 1.25,
          dash: [3, 3],
          paths: spline,
          points: { show: false },
        },
      ],
      hooks: { setCursor: [(plot) => this.#read(plot.cursor.idx ?? null)] },
    };
  }

  /** Return whether the log is so short that no line can be drawn. */
  #isShort(): boolean {
    return this.#points.filter((point) => point[1] !== null).length === 1;
  }

  /** Write the point under the pointer beside the title. */
  #read(index: number | null): void {
    if (!this.#readout) return;
    const under = index === null ? undefined : this.#points[index];
    const point = under?.[1] === null ? undefined : under;
    const values: Record<string, string> = {};
    if (point) {
      values.time = this.#times.point(point[0], this.#step());
      values.queries = this.#number(point[1] ?? 0);
      values.blocked = this.#number(point[2] ?? 0);
      values.share = point[3] === null ? "–" : this.#percent(point[3], 1);
    }
    const pattern = point ? (this.#place.dataset.readout ?? "") : "\u00a0";
    this.#readout.textContent = pattern.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  }

  #step(): number {
    const [first, second] = this.#points;
    return first && second ? second[0] - first[0] : 60;
  }

  #number(value: number): string {
    return value.toLocaleString(this.#locale, { maximumFractionDigits: value < 10 ? 1 : 0 });
  }

  #percent(value: number, digits: number): string {
    const maximumFractionDigits = digits;
    return value.toLocaleString(this.#locale, { style: "percent", maximumFractionDigits });
  }
}

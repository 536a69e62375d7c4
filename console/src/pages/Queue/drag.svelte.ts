// Dragging a row of the virtual list. All rows have one height, so a drop position is computed,
// also among rows that are not in the document; near an edge the list scrolls.

import type { Brief } from "../../live/brief";

const THRESHOLD = 4;
const EDGE = 48;
const FASTEST = 18; // pixels per frame

interface List {
  readonly box: HTMLElement | undefined;
  readonly rowHeight: number;
  readonly count: number;
}

export class Drag {
  /** The dragged job. */
  job: Brief | null = $state.raw(null);
  /** The row before which the job would be dropped. */
  gap = $state(0);
  x = $state(0);
  y = $state(0);

  #list: () => List;
  #drop: (job: Brief, gap: number) => void;
  #stop: (() => void) | undefined;

  constructor(list: () => List, drop: (job: Brief, gap: number) => void) {
    this.#list = list;
    this.#drop = drop;
  }

  /** A pointer went down on a row; the drag begins when it moves. */
  begin(event: PointerEvent, job: Brief): void {
    if (event.button !== 0 || this.#stop) return;
    const { clientX, clientY, pointerId } = event;
    const onmove = (moved: PointerEvent): void => {
      if (moved.pointerId !== pointerId) return;
      const far = Math.hypot(moved.clientX - clientX, moved.clientY - clientY) > THRESHOLD;
      if (this.job === null && !far) return;
      moved.preventDefault();
      if (this.job === null) this.#start(job);
      this.x = moved.clientX;
      this.y = moved.clientY;
      this.#locate();
    };
    const onup = (up: PointerEvent): void => {
      if (up.pointerId !== pointerId) return;
      const dragged = this.job;
      const gap = this.gap;
      this.cancel();
      if (dragged) {
        swallowClick();
        if (up.type === "pointerup") this.#drop(dragged, gap);
      }
    };
    const onkey = (key: KeyboardEvent): void => {
      if (key.key !== "Escape") return;
      key.stopPropagation();
      this.cancel();
    };
    addEventListener("pointermove", onmove, { passive: false });
    addEventListener("pointerup", onup);
    addEventListener("pointercancel", onup);
    addEventListener("keydown", onkey, true);
    this.#stop = () => {
      removeEventListener("pointermove", onmove);
      removeEventListener("pointerup", onup);
      removeEventListener("pointercancel", onup);
      removeEventListener("keydown", onkey, true);
    };
  }

  cancel(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.job = null;
  }

  #start(job: Brief): void {
    this.job = job;
    getSelection()?.removeAllRanges();
    requestAnimationFrame(this.#scroll);
  }

  #locate(): void {
    const { box, rowHeight, count } = this.#list();
    if (!box) return;
    const place = (this.y - box.getBoundingClientRect().top + box.scrollTop) / rowHeight;
    this.gap = Math.max(0, Math.min(count, Math.round(place)));
  }

  #scroll = (): void => {
    const { box } = this.#list();
    if (this.job === null || !box) return;
    const { top, bottom } = box.getBoundingClientRect();
    const near = this.y < top + EDGE ? this.y - top - EDGE : Math.max(0, this.y - bottom + EDGE);
    if (near !== 0) {
      box.scrollTop += Math.max(-FASTEST, Math.min(FASTEST, near / 2));
      this.#locate();
    }
    requestAnimationFrame(this.#scroll);
  };
}

/** Suppress the click that follows a drag. */
function swallowClick(): void {
  const swallow = (event: MouseEvent): void => {
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => removeEventListener("click", swallow, true));
}

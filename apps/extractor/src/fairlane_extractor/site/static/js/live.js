// The tasks that this page knows, kept up to date by one WebSocket.
//
// After `ready` no change is missed, so the tasks are read after it: at the start, and after every
// lost connection.

import { request } from "./api.js";

/** @typedef {import("./types.js").Task} Task */
/** @typedef {import("./types.js").Progress} Progress */

const SLOWEST_MILLISECONDS = 15_000;
const STATUS_OF_STAGE = /** @type {const} */ ({
  parsing: "parsing", downloading: "downloading", subtitle: "extracting", asr: "extracting",
  ocr: "extracting", merge: "merging",
});

class Live {
  constructor() {
    /** @type {Set<(task: Task) => void>} */
    this._changed = new Set();
    /** @type {Set<(progress: Progress) => void>} */
    this._progressed = new Set();
    /** @type {Set<() => void>} */
    this._reload = new Set();
    /** @type {Set<(connected: boolean) => void>} */
    this._connected = new Set();
    this._failures = 0;
  }

  /**
   * Call listeners until the signal is aborted.
   * @param {{changed?: (task: Task) => void, progressed?: (progress: Progress) => void,
   *   reload?: () => void, connected?: (connected: boolean) => void}} listeners
   * @param {AbortSignal} [signal]
   */
  listen(listeners, signal) {
    for (const [name, listener] of Object.entries(listeners)) {
      /** @type {Set<any>} */
      const all = /** @type {any} */ (this)[`_${name}`];
      all.add(listener);
      signal?.addEventListener("abort", () => all.delete(listener));
    }
  }

  connect() {
    const address = new URL("api/ws", document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    socket.onmessage = ({ data }) => this._receive(JSON.parse(data));
    socket.onclose = () => this._retry();
  }

  /** @param {any} message */
  _receive(message) {
    if (message.type === "task") this._changed.forEach((changed) => changed(message.task));
    else if (message.type === "progress") this._progressed.forEach((known) => known(message));
    else if (message.type === "ready" || message.type === "resync") {
      this._failures = 0;
      this._connected.forEach((connected) => connected(true));
      this._reload.forEach((reload) => reload());
    }
  }

  _retry() {
    this._failures += 1;
    if (this._failures > 1) this._connected.forEach((connected) => connected(false));
    // A refused connection does not tell its reason; a request opens the sign-in page on 401.
    if (this._failures % 3 === 2) void request("api/tasks?limit=1").catch(() => {});
    const wait = Math.min(SLOWEST_MILLISECONDS, 250 * 2 ** this._failures);
    setTimeout(() => this.connect(), wait);
  }
}

export const live = new Live();

/**
 * Return whether a task was read before another view of it: answers may overtake each other.
 * @param {Task} task
 * @param {Task | null | undefined} known
 */
export function isOlder(task, known) {
  if (!known) return false;
  // Times alone do not decide: a short extraction ends within a millisecond of its last report.
  return (
    task.meta.attempt - known.meta.attempt ||
    phase(task) - phase(known) ||
    Date.parse(task.updated_at) - Date.parse(known.updated_at)
  ) < 0;
}

/**
 * Return the place of a status within an attempt; a task that waits after one is beyond its end.
 * @param {Task} task
 */
function phase(task) {
  if (["completed", "failed", "cancelled"].includes(task.status)) return 2;
  if (task.status !== "pending" && task.status !== "created") return 1;
  return task.meta.attempt > 0 ? 3 : 0;
}

/**
 * Return a task after the progress of one of its stages.
 * @param {Task} task
 * @param {Progress} progress
 * @returns {Task}
 */
export function progressed(task, progress) {
  const { stage, status, message, total } = progress;
  const known = task.stage_progress[stage];
  const at = new Date().toISOString();
  const isEnd = status !== "running" && status !== "pending";
  const changed = {
    stage, status, message, progress: progress.progress,
    started_at: known?.started_at ?? at, finished_at: isEnd ? known?.finished_at ?? at : null,
  };
  const active = !["completed", "failed", "cancelled"].includes(task.status);
  const ofStage = STATUS_OF_STAGE[/** @type {keyof typeof STATUS_OF_STAGE} */ (stage)];
  return {
    ...task,
    status: active && !isEnd && ofStage ? ofStage : task.status,
    progress: active ? Math.max(total, task.progress) : task.progress,
    stage_progress: { ...task.stage_progress, [stage]: changed },
  };
}

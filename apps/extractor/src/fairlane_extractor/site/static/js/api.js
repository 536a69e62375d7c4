// All requests go through `request`; an error response becomes a `Problem`.

/** @typedef {import("./types.js").Task} Task */
/** @typedef {import("./types.js").TaskPage} TaskPage */
/** @typedef {import("./types.js").Result} Result */
/** @typedef {import("./types.js").HitPage} HitPage */

export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} detail
   */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** Open the sign-in page, which leads back to this one. */
export function signIn() {
  const here = location.pathname + location.search + location.hash;
  location.assign(`queue/?next=${encodeURIComponent(here)}`);
}

/**
 * @param {string} path
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function request(path, { method = "GET", body, signal } = {}) {
  /** @type {RequestInit} */
  const options = { method, signal: signal ?? null, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.headers = { ...options.headers, "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options).catch((error) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "the server does not answer");
  });
  const content = await answer.json().catch(() => null);
  if (answer.ok) return content;
  if (answer.status === 401) signIn();
  const detail = content?.detail ?? `${answer.status} ${answer.statusText}`;
  throw new Problem(answer.status, content?.code ?? "error", detail);
}

const task = (/** @type {string} */ id, rest = "") =>
  `api/tasks/${encodeURIComponent(id)}${rest}`;

/**
 * @param {{status?: string[], q?: string, cursor?: string | null}} wanted
 * @returns {Promise<TaskPage>}
 */
export function listTasks({ status = [], q = "", cursor = null }) {
  const query = new URLSearchParams(status.map((one) => ["status", one]));
  if (q) query.set("q", q);
  if (cursor) query.set("cursor", cursor);
  return request(`api/tasks?${query}`);
}

/** @type {(id: string) => Promise<Task>} */
export const readTask = (id) => request(task(id));
/** @type {(inputs: string[], options: object) => Promise<{items: Task[]}>} */
export const createTasks = (inputs, options) =>
  request("api/tasks", { method: "POST", body: { inputs, options } });
/** @type {(id: string) => Promise<{cancelled: boolean}>} */
export const cancelTask = (id) => request(task(id, "/cancel"), { method: "POST" });
/** @type {(id: string) => Promise<Task>} */
export const prioritizeTask = (id) => request(task(id, "/prioritize"), { method: "POST" });
/** @type {(id: string) => Promise<Task>} */
export const reextractTask = (id) => request(task(id, "/reextract"), { method: "POST" });
/** @type {(id: string) => Promise<Result>} */
export const readResult = (id) => request(task(id, "/result?format=json"));
/** @type {(id: string) => Promise<void>} */
export const deleteResult = (id) => request(task(id, "/result"), { method: "DELETE" });
/** @type {(q: string, cursor?: string | null) => Promise<HitPage>} */
export const search = (q, cursor = null) =>
  request(`api/search?${new URLSearchParams(cursor ? { q, cursor } : { q })}`);
/** @type {() => Promise<{role: "read" | "operate" | null, token_needed: boolean}>} */
export const readSession = () => request("queue/api/session");

/**
 * @param {string} id
 * @param {string} format
 */
export const downloadAddress = (id, format) => task(id, `/result?format=${format}&download=1`);
/** @param {string} id */
export const captionsAddress = (id) => task(id, "/result?format=vtt");
/** @param {string} id */
export const mediaAddress = (id) => task(id, "/media");

/**
 * @param {string} id
 * @returns {Promise<string>}
 */
export async function readText(id) {
  const answer = await fetch(task(id, "/result?format=txt"));
  if (!answer.ok) throw new Problem(answer.status, "error", answer.statusText);
  return answer.text();
}

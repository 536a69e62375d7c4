// All requests go through `request`. Every response that is not a success becomes a `Problem`.

import { Problem, problemFrom } from "./problem";

type Value = string | number | boolean | null | undefined;
export type Query = Record<string, Value | readonly string[]>;

interface Options {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

/** Return the address of an API path under the prefix that serves this page. */
export function address(path: string, query: Query = {}): string {
  const url = new URL(path.replace(/^\//, ""), document.baseURI);
  url.hash = "";
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) url.searchParams.append(name, one);
    else if (value !== undefined && value !== null && value !== "")
      url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** Build a path with escaped parts: path`/api/jobs/${id}/log`. */
export function path(texts: TemplateStringsArray, ...parts: readonly string[]): string {
  return texts.map((text, index) => text + encodeURIComponent(parts[index] ?? "")).join("");
}

const listeners = { unauthorized: () => {}, time: (_: number) => {} };

/** Register callbacks for a missing token (401) and for the server's time. */
export function listen(to: Partial<typeof listeners>): void {
  Object.assign(listeners, to);
}

/**
 * Send a request and return the content of the response.
 *
 * Status 202 is a problem too: it means that no leader decides at the moment, and the user must
 * know.
 */
export async function request<T>(where: string, options: Options = {}): Promise<T> {
  const { method = "GET", query, body, signal } = options;
  const answer = await send(address(where, query), method, body, signal);
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (!Number.isNaN(date)) listeners.time(date);
  if (answer.status === 204) return undefined as T;
  const content = await read(answer);
  if (answer.ok && answer.status !== 202) return content as T;
  throw failed(answer.status, content, answer.statusText);
}

/** Make a problem of an error response; status 401 also opens the sign-in page. */
export function failed(status: number, content: unknown, title: string): Problem {
  if (status === 401) listeners.unauthorized();
  return problemFrom(status, content, title);
}

export const unreachable = (): Problem =>
  new Problem({ status: 0, code: "unreachable", detail: "the server does not answer" });

async function send(
  url: string,
  method: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(url, {
      method,
      headers,
      credentials: "same-origin",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
}

async function read(answer: Response): Promise<unknown> {
  const text = await answer.text();
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Where we are. All of it is in the hash, so that a link says what its sender saw, whatever prefix
// the page is served under: #/history?state=failed&q=ann

import { type Place, hrefOf, parse } from "./hash";

class Router {
  #place: Place = $state.raw(parse(location.hash));

  constructor() {
    addEventListener("hashchange", () => (this.#place = parse(location.hash)));
  }

  /** The parts of the path, unescaped. */
  get path(): readonly string[] {
    return this.#place.path;
  }

  /** What was chosen on the page, by name; a name may be given several times. */
  get query(): URLSearchParams {
    return this.#place.query;
  }

  /** The queue that is looked at; undefined for all of them. */
  get queue(): string | undefined {
    return this.query.get("queue") ?? undefined;
  }

  go(...to: Parameters<typeof href>): void {
    location.hash = href(...to);
  }

  /** Change what is chosen on this page; an empty value takes it away. */
  choose(changes: Record<string, string | readonly string[] | null | undefined>): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      query.delete(name);
      for (const one of typeof value === "string" ? [value] : (value ?? []))
        if (one !== "") query.append(name, one);
    }
    history.replaceState(null, "", hrefOf({ path: this.path, query }));
    this.#place = { path: this.path, query };
  }
}

export const router = new Router();

/** Write a link: href(["jobs", id]), href(["history"], { state: "failed" }). */
export function href(
  path: readonly string[],
  query: Record<string, string | undefined> = {},
): string {
  const chosen = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) chosen.set(name, value);
  return hrefOf({ path, query: chosen });
}

export const jobHref = (id: string): string => href(["jobs", id]);

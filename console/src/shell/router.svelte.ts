// The address. All view state is in the hash, so that a link opens the same view under every
// prefix: #/history?state=failed&q=ann

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

  /** The view state of the page, by name; a name may occur several times. */
  get query(): URLSearchParams {
    return this.#place.query;
  }

  /** The selected queue; undefined for all. */
  get queue(): string | undefined {
    return this.query.get("queue") ?? undefined;
  }

  go(...to: Parameters<typeof href>): void {
    location.hash = href(...to);
  }

  /** Change view state of this page; an empty value removes it. */
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

/** Build a link: href(["jobs", id]), href(["history"], { state: "failed" }). */
export function href(
  path: readonly string[],
  query: Record<string, string | undefined> = {},
): string {
  const chosen = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) chosen.set(name, value);
  return hrefOf({ path, query: chosen });
}

export const jobHref = (id: string): string => href(["jobs", id]);

// Merges pages of the history.

export interface Found<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** Append a page; a job that moved between the two requests is kept once. */
export function append<T extends { id: string }>(known: Found<T>, page: Found<T>): Found<T> {
  const ids = new Set(known.items.map((job) => job.id));
  return { items: [...known.items, ...page.items.filter((job) => !ids.has(job.id))], next: page.next };
}

/**
 * Put a fresh first page in front of the known jobs. If the two do not overlap, jobs between them
 * may be missing, so only the fresh page is kept.
 */
export function renew<T extends { id: string }>(known: Found<T>, page: Found<T>): Found<T> {
  const last = page.items.at(-1);
  if (!last) return page.next === null ? page : known; // the search has no match so far
  const place = known.items.findIndex((job) => job.id === last.id);
  if (page.next === null || place < 0) return page;
  // A known job above the last fresh job that is not on the fresh page has left the list.
  const fresh = new Set(page.items.map((job) => job.id));
  const rest = known.items.slice(place + 1).filter((job) => !fresh.has(job.id));
  return { items: [...page.items, ...rest], next: known.next };
}

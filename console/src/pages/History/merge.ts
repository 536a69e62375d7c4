// Pages of the past, put together.

export interface Found<T> {
  readonly items: readonly T[];
  /** The cursor of what follows; null at the end. */
  readonly next: string | null;
}

/** Put what follows behind what is known; a job may have moved between the two questions. */
export function append<T extends { id: string }>(known: Found<T>, page: Found<T>): Found<T> {
  const ids = new Set(known.items.map((job) => job.id));
  return { items: [...known.items, ...page.items.filter((job) => !ids.has(job.id))], next: page.next };
}

/**
 * Put a fresh first page in front of what is known. If they do not touch there may be others in
 * between, so that only the fresh page is certain.
 */
export function renew<T extends { id: string }>(known: Found<T>, page: Found<T>): Found<T> {
  const last = page.items.at(-1);
  if (!last) return page.next === null ? page : known; // a search that found nothing so far
  const place = known.items.findIndex((job) => job.id === last.id);
  if (page.next === null || place < 0) return page;
  // What stood above the last fresh job and is no longer on the page has left the list.
  const fresh = new Set(page.items.map((job) => job.id));
  const rest = known.items.slice(place + 1).filter((job) => !fresh.has(job.id));
  return { items: [...page.items, ...rest], next: known.next };
}

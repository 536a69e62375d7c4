// The site of the program, where it serves one beside this console.

/**
 * Return the address of the page that sent the user here to sign in; null if there is none.
 *
 * A browser keeps the hash of an address over a redirect, so the hash here is that of the page.
 */
export function pageBefore({ origin, search, hash }: Location | URL): string | null {
  const next = new URLSearchParams(search).get("next");
  if (!next?.startsWith("/")) return null;
  const page = new URL(next, origin);
  page.hash ||= hash;
  return page.origin === origin ? page.href : null;
}

/** Return to that page, once the user has a session. */
export function returnToSite(): void {
  const page = pageBefore(location);
  if (page !== null) location.replace(page);
}

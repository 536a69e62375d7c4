// The site of the program, where it serves one beside this console.

/** Return the address of the page that sent the user here to sign in; null if there is none. */
export function pageBefore(query: string, origin: string): string | null {
  const next = new URLSearchParams(query).get("next");
  if (!next?.startsWith("/")) return null;
  const page = new URL(next, origin);
  return page.origin === origin ? page.href : null;
}

/** Return to that page, once the user has a session. */
export function returnToSite(): void {
  const page = pageBefore(location.search, location.origin);
  if (page !== null) location.replace(page);
}

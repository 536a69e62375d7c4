// Converts between a hash and a path with a query.

export interface Place {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function parse(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(unescape), query: new URLSearchParams(query) };
}

export function hrefOf({ path, query }: Place): string {
  const text = query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

function unescape(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // the user typed a percent sign that escapes no character
  }
}

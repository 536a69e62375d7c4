// Live parts: elements with an id and `data-live`, whose value is the interval in seconds. They are
// replaced by the same elements of a newer copy of the page, so the server renders them only in one
// way.

import { showLost } from "./connection";
import { repeat } from "./rounds";

const USUAL_SECONDS = 10;
const PLACES = "a[href], button, summary";

export function startLiveParts(): void {
  const parts = liveParts();
  if (parts.length === 0) return;
  const intervals = parts.map((part) => Number(part.dataset.live) || USUAL_SECONDS);
  repeat(refresh, Math.min(...intervals));
}

const liveParts = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-live]")];

async function refresh(): Promise<void> {
  let answer: Response;
  try {
    answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  } catch {
    showLost(true);
    return;
  }
  if (answer.redirected && new URL(answer.url).pathname !== location.pathname) {
    location.reload(); // the session has ended
    return;
  }
  showLost(!answer.ok);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of liveParts()) {
    const newer = fresh.getElementById(part.id);
    if (newer && newer.innerHTML !== part.innerHTML && !isInUse(part)) replace(part, newer);
  }
}

/** Return whether a person would lose input, an opened detail or a selection. */
function isInUse(part: HTMLElement): boolean {
  const active = document.activeElement;
  const isTyping = active instanceof HTMLInputElement && part.contains(active);
  const fields = [...part.querySelectorAll<HTMLInputElement>("input:not([type=hidden])")];
  const isChanged = fields.some((field) => field.value !== field.defaultValue);
  const selection = getSelection();
  const isSelected = selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
  return isTyping || isChanged || isSelected || part.querySelector("details[open]") !== null;
}

/** Put a newer element in the place of a part; the focus stays at its place. */
function replace(part: HTMLElement, newer: HTMLElement): void {
  const places = [...part.querySelectorAll<HTMLElement>(PLACES)];
  const focused = places.findIndex((place) => place === document.activeElement);
  part.replaceWith(document.adoptNode(newer));
  if (focused >= 0) newer.querySelectorAll<HTMLElement>(PLACES)[focused]?.focus();
}

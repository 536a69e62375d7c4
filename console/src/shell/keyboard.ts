// Keyboard shortcuts. A page adds its shortcuts while it is shown. Keys in a field, or while a
// dialog or a menu is open, are ignored.

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const layers: Keys[] = [];
let prefix = "";
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

/**
 * Add shortcuts; "g q" is g followed by q, "alt+ArrowUp" with Alt. Returns the function that
 * removes them.
 */
export function addKeys(keys: Keys): () => void {
  layers.push(keys);
  return () => void layers.splice(layers.indexOf(keys), 1);
}

export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || isElsewhere(event)) return;
    const key = `${event.altKey ? "alt+" : ""}${event.key}`;
    const wanted = prefix ? `${prefix} ${key}` : key;
    setPrefix("");
    for (let index = layers.length - 1; index >= 0; index -= 1) {
      const action = layers[index]?.[wanted];
      if (action) {
        event.preventDefault();
        action(event);
        return;
      }
    }
    const begins = layers.some((keys) => Object.keys(keys).some((k) => k.startsWith(`${wanted} `)));
    if (begins) setPrefix(wanted);
  });
}

function setPrefix(value: string): void {
  prefix = value;
  clearTimeout(prefixTimer);
  if (value) prefixTimer = setTimeout(() => (prefix = ""), 1500);
}

function isElsewhere(event: KeyboardEvent): boolean {
  const at = event.target instanceof Element ? event.target : null;
  if (document.querySelector("dialog[open], [popover]:popover-open")) return true;
  if (!at) return false;
  const field = at.closest("input, textarea, select, [contenteditable]");
  if (field instanceof HTMLInputElement && ["checkbox", "radio"].includes(field.type)) return false;
  return field !== null && event.key !== "Escape";
}

/** Move the focus among the jobs on the page, in displayed order. */
export function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-job]")];
  const present = document.activeElement?.closest<HTMLElement>("[data-job]");
  const index = present ? rows.indexOf(present) : Math.min(lastIndex, rows.length) - step;
  const next = rows[Math.max(0, Math.min(rows.length - 1, index + step))];
  lastIndex = next ? rows.indexOf(next) : 0;
  next?.querySelector<HTMLElement>("[data-main]")?.focus();
}

let lastIndex = 0;

/** The focused job. */
export function focusedJob(): string | undefined {
  return document.activeElement?.closest<HTMLElement>("[data-job]")?.dataset.job;
}

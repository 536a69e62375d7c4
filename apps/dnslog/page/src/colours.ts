// The colours of the page for a canvas, which does not understand custom properties.

/** Return a colour of the page, mixed with the background of a panel. */
export function colour(name: string, percent = 100): string {
  const probe = document.createElement("span");
  probe.style.color = `color-mix(in srgb, var(--${name}) ${percent}%, var(--panel))`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

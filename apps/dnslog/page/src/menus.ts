// Menus are `<details>`; a click elsewhere or Escape closes them.

export function prepareMenus(): void {
  const menus = [...document.querySelectorAll<HTMLDetailsElement>("details[data-menu]")];
  if (menus.length === 0) return;
  document.addEventListener("click", (event) => {
    for (const menu of menus) {
      if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus) {
      if (!menu.open) continue;
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });
}

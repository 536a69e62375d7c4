// Conveniences of the forms.

export function prepareForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[role=search]")) {
    shortenAddress(form);
  }
  for (const form of document.querySelectorAll<HTMLFormElement>(".rule-form")) {
    switchParts(form);
    offerClients(form);
  }
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const fieldsOf = (place: ParentNode): Field[] => [
  ...place.querySelectorAll<Field>("input, select, textarea"),
];

/** Leave empty and hidden fields out of the address of a search. */
function shortenAddress(form: HTMLFormElement): void {
  form.addEventListener("submit", () => {
    for (const field of fieldsOf(form)) {
      const isHidden = field.type !== "hidden" && field.offsetParent === null;
      field.disabled = isHidden || field.value === "";
    }
  });
  // The page may come back from the browser's cache.
  addEventListener("pageshow", () => {
    for (const field of fieldsOf(form)) field.disabled = false;
  });
}

/** Disable the fields of hidden parts: the browser must not complain about them. */
function switchParts(form: HTMLFormElement): void {
  const lock = form.querySelector<HTMLFieldSetElement>("fieldset.plain");
  if (lock?.disabled) return;
  function update(): void {
    for (const part of form.querySelectorAll<HTMLElement>(".part")) {
      const isHidden = getComputedStyle(part).display === "none";
      for (const field of fieldsOf(part)) field.disabled = isHidden;
    }
  }
  form.addEventListener("change", update);
  addEventListener("pageshow", update);
}

/** Add a client of the log to the list by a click. */
function offerClients(form: HTMLFormElement): void {
  const list = form.querySelector<HTMLTextAreaElement>("textarea[name=clients]");
  if (!list) return;
  form.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("[data-add-client]");
    const client = button instanceof HTMLElement ? button.dataset.addClient : undefined;
    if (!client) return;
    const lines = list.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (!lines.includes(client)) list.value = [...lines, client].join("\n");
  });
}

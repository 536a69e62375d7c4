// The note in the frame that the page is not up to date.

/** Show or hide the note. A screen reader announces it when it appears. */
export function showLost(isLost: boolean): void {
  const note = document.getElementById("lost");
  if (note) note.textContent = isLost ? (note.dataset.text ?? "") : "";
}

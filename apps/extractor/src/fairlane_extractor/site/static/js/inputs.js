// The inputs in a pasted text. Apps share a link inside of a sentence, so links are found anywhere.

const LINK = /https?:\/\/[^\s<>"'，。；！？、（）《》【】「」]+/gi;
const TRAILING = /[.,;:!?)\]]+$/;

/**
 * Return the links of a text, and its lines that are paths; without links, all its lines.
 * @param {string} text
 * @returns {string[]}
 */
export function inputsIn(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  const hasLinks = lines.some((line) => line.search(LINK) >= 0);
  const found = lines.flatMap((line) => {
    const links = (line.match(LINK) ?? []).map((link) => link.replace(TRAILING, ""));
    return links.length || (hasLinks && !/^[/~]/.test(line)) ? links : [line];
  });
  return [...new Set(found)];
}

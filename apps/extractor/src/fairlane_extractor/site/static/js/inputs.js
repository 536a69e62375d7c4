// The inputs in a pasted text. Apps share a link inside of a sentence, so links are found anywhere.

const LINK = /https?:\/\/[^\s<>"'，。；！？、（）《》【】「」]+/gi;
const BARE_LINK = /^([a-z0-9-]+\.)+[a-z]{2,}\/\S*$/i; // as copied from an address bar
const TRAILING = /[.,;:!?)\]]+$/;

/** @param {string} text */
const linesOf = (text) => text.split(/\r?\n/).filter((line) => line.trim());

/**
 * Return the links of a line, or the line itself if it is a path; a sentence without links is none.
 * @param {string} text
 * @returns {string[]}
 */
function inputsOfLine(text) {
  const line = text.trim();
  const links = (line.match(LINK) ?? []).map((link) => link.replace(TRAILING, ""));
  if (links.length) return links;
  if (line.startsWith("/")) return [line];
  return BARE_LINK.test(line) ? [`https://${line}`] : [];
}

/**
 * Return the links and paths of a text.
 * @param {string} text
 * @returns {string[]}
 */
export function inputsIn(text) {
  return [...new Set(linesOf(text).flatMap(inputsOfLine))];
}

/**
 * Return how many lines of a text have no input.
 * @param {string} text
 */
export function countOthers(text) {
  return linesOf(text).filter((line) => inputsOfLine(line).length === 0).length;
}

/**
 * Return a text without the lines of some inputs.
 * @param {string} text
 * @param {string[]} inputs
 */
export function withoutInputs(text, inputs) {
  const isLeft = (/** @type {string} */ line) => {
    const found = inputsOfLine(line);
    return found.length === 0 || !found.every((input) => inputs.includes(input));
  };
  return linesOf(text).filter(isLeft).join("\n");
}

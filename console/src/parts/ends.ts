const TAIL = 12;
const SHORT = 15;

/** Split a long name in two parts, of which the second stays visible; null if it is short. */
export function endsOf(name: string): readonly [string, string] | null {
  const signs = [...name]; // by code point, so that no character is split
  if (signs.length <= SHORT) return null;
  return [signs.slice(0, -TAIL).join(""), signs.slice(-TAIL).join("")];
}

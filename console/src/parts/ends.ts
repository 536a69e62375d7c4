const TAIL = 12;
const SHORT = 15;

/** Part a long name in two, of which the second must be seen; null if it is short. */
export function endsOf(name: string): readonly [string, string] | null {
  const signs = [...name]; // so that no sign is torn in two
  if (signs.length <= SHORT) return null;
  return [signs.slice(0, -TAIL).join(""), signs.slice(-TAIL).join("")];
}

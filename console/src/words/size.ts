/** Format a number of bytes: 512 B, 3.4 MB; it may be negative. */
export function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || Math.abs(value) >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

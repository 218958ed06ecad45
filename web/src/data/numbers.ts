// Counts are integers up to 2^64. The document has those that a JavaScript number cannot hold as
// strings. Exact figures are bigints; only lengths on the screen are numbers.

/** An integer of the document. */
export type Wire = number | string;

export function exact(wire: Wire): bigint {
  return BigInt(wire);
}

/** Digits in groups of three: `1,234,567`. */
export function grouped(number: bigint | number): string {
  return number.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A short form for tight places: `12.3 M`. */
export function brief(number: bigint | number): string {
  const value = Number(number);
  const units: [number, string][] = [
    [1e18, " E"],
    [1e15, " P"],
    [1e12, " T"],
    [1e9, " G"],
    [1e6, " M"],
    [1e4, " k"],
  ];
  for (const [unit, name] of units) {
    if (Math.abs(value) >= unit) {
      const scaled = value / (unit === 1e4 ? 1e3 : unit);
      return scaled.toFixed(Math.abs(scaled) < 100 ? 1 : 0) + (unit === 1e4 ? " k" : name);
    }
  }
  return grouped(number);
}

/** A part of a whole: `12.3 %`. */
export function percent(part: bigint | number, whole: bigint | number): string {
  const denominator = Number(whole);
  if (denominator === 0) return "–";
  const share = (100 * Number(part)) / denominator;
  if (share > 0 && share < 0.05) return "< 0.1 %";
  return share.toFixed(1) + " %";
}

/** A part of a whole in a few characters: `12 %`. */
export function wholePercent(part: bigint | number, whole: bigint | number): string {
  const share = (100 * Number(part)) / Number(whole);
  if (share > 0 && share < 1) return "< 1 %";
  if (share < 100 && share > 99) return "> 99 %";
  return `${share.toFixed(0)} %`;
}

/** A noun with its number: `1 path`, `2 paths`. */
export function plural(number: bigint | number, noun: string, many = `${noun}s`): string {
  return `${grouped(number)} ${Number(number) === 1 ? noun : many}`;
}

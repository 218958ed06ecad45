// The difference between a count and the count of the baseline, in words.

import { grouped } from "../data/numbers";

export type ChangeSort = "new" | "gone" | "hotter" | "colder" | "same";

export interface Change {
  sort: ChangeSort;
  /** A few characters: `new`, `+12 %`, `× 3.1`. */
  text: string;
}

export function change(now: bigint, before: bigint): Change {
  if (now === before) return { sort: "same", text: now === 0n ? "" : "same" };
  if (before === 0n) return { sort: "new", text: "new" };
  if (now === 0n) return { sort: "gone", text: "gone" };
  const sort = now > before ? "hotter" : "colder";
  const ratio = Number(now) / Number(before);
  if (ratio >= 3)
    return { sort, text: `× ${ratio < 10 ? ratio.toFixed(1) : grouped(Math.round(ratio))}` };
  const points = 100 * (ratio - 1);
  const size = Math.abs(points);
  if (size < 0.05) return { sort, text: "< 0.1 %" };
  const figure = size.toFixed(size < 10 ? 1 : 0);
  return { sort, text: `${points > 0 ? "+" : "−"}${figure} %` };
}

/** Both counts in words: `12 times, 8 in the baseline`. */
export function both(now: bigint, before: bigint): string {
  return `${grouped(now)} times, ${grouped(before)} in the baseline`;
}

// How far a prediction is from the truth, in a few characters and in words.

import { grouped } from "../data/numbers";

export type ErrorSort = "missed" | "excess" | "near" | "same";

export interface PredictionError {
  /** `missed`: less than half of the executions are predicted. `excess`: more than twice as many. */
  sort: ErrorSort;
  /** A few characters: `−60 %`, `× 3.1`. Empty if the prediction is right, or 0. */
  text: string;
  /** `edge counts predict 1,200, 3.1 times as many as ran`. */
  words: string;
}

/** Compares the executions that the edge counts predict with those that ran. */
export function predictionError(ran: bigint, predicted: bigint): PredictionError {
  const words = (how: string): string => `edge counts predict ${grouped(predicted)}, ${how}`;
  if (predicted === ran) return { sort: "same", text: "", words: words("as many as ran") };
  if (ran === 0n) return { sort: "excess", text: "", words: words("but it never ran") };
  const sort = 2n * predicted < ran ? "missed" : predicted > 2n * ran ? "excess" : "near";
  const ratio = Number(predicted) / Number(ran);
  const missing = grouped(ran > predicted ? ran - predicted : predicted - ran);
  if (predicted === 0n)
    return { sort, text: "", words: `edge counts predict none of the ${grouped(ran)}` };
  if (ratio >= 2) {
    const figure = ratio < 10 ? ratio.toFixed(1) : grouped(Math.round(ratio));
    return { sort, text: `× ${figure}`, words: words(`${figure} times as many as ran`) };
  }
  const points = Math.abs(100 * (ratio - 1));
  const figure = points < 1 ? "< 1 %" : `${points.toFixed(0)} %`;
  const sign = points < 1 ? "" : ratio < 1 ? "−" : "+";
  const way = ratio < 1 ? "too few" : "too many";
  return { sort, text: `${sign}${figure}`, words: words(`${figure} (${missing}) ${way}`) };
}

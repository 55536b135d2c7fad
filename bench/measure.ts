/** One line of the table: what we reach beside what we compare with, measured in the same run. */
export interface Row {
  readonly name: string
  readonly unit: string
  readonly ours: number
  readonly peer: number
  readonly peerName: string
  /** Ours ÷ peer, so that more is better. */
  readonly ratio: number
  readonly goal: string
  readonly met: boolean
}

export type Bench = () => Promise<readonly Row[]>

/** Runs `work` and answers operations per second. */
export async function rate(operations: number, work: () => unknown): Promise<number> {
  const start = process.hrtime.bigint()
  await work()
  return operations / (Number(process.hrtime.bigint() - start) / 1e9)
}

/** Both sides by turns, so that whatever else the machine does falls on both; the median of each, and of the ratios. */
export async function byTurns(
  rounds: number,
  ours: () => Promise<number>,
  peer: () => Promise<number>,
): Promise<{ readonly ours: number; readonly peer: number; readonly ratio: number }> {
  const left: number[] = []
  const right: number[] = []
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes, because the second finds warmer caches.
    const order = round % 2 === 0 ? [true, false] : [false, true]
    for (const first of order) first ? left.push(await ours()) : right.push(await peer())
  }
  const ratios = left.map((value, round) => value / (right[round] ?? Number.NaN))
  return { ours: median(left), peer: median(right), ratio: median(ratios) }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** A row whose goal is a least ratio to the peer. */
export const atLeast = (
  name: string,
  unit: string,
  peerName: string,
  least: number,
  measured: { readonly ours: number; readonly peer: number; readonly ratio: number },
): Row => ({ name, unit, peerName, ...measured, goal: `ratio ≥ ${least}`, met: measured.ratio >= least })

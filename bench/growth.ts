import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, median, rate } from './measure.ts'
import { draftOf } from './records.ts'
import { appendAll, openBenchStore } from './sqlite.ts'

const stored = 300_000
const perCommit = 500

/** The cost of one append to an empty store and to one that holds 300,000 events, by turns in one run. */
const bench: Bench = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const small = await openBenchStore(join(folder, 'small.db'))
  const large = await openBenchStore(join(folder, 'large.db'))
  const batches = (count: number, size: number) =>
    Array.from({ length: count }, () => Array.from({ length: size }, () => draftOf(300, 10_000)))
  try {
    for (let left = stored; left > 0; left -= 20 * perCommit) await appendAll(large, batches(20, perCommit))
    const microseconds = async (store: typeof small) => {
      const drafts = batches(300, 1)
      return 1e6 / (await rate(300, () => appendAll(store, drafts)))
    }
    const empty: number[] = []
    const full: number[] = []
    for (let round = 0; round < 11; round++) {
      empty.push(await microseconds(small))
      full.push(await microseconds(large))
    }
    const [ours, peer] = [median(full), median(empty)]
    const cost = ours / peer
    return [
      {
        name: `append with ${stored.toLocaleString('en-US')} events stored`,
        unit: 'µs',
        ours,
        peer,
        peerName: 'the same, empty store',
        ratio: cost,
        goal: 'ratio ≤ 1.2',
        met: cost <= 1.2,
      },
    ]
  } finally {
    await small.close()
    await large.close()
    rmSync(folder, { recursive: true })
  }
}
export default bench

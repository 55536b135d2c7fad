import { makeCoverage } from '../src/grants/cover.ts'
import { type Bench, byTurns, type Row, rate } from './measure.ts'

const operations = 200_000
const microsecondsMax = 0.3

/** One check of a path against 16 grants of different depth; half of the paths are covered. Beside it a plain scan. */
const bench: Bench = async () => {
  const grants = Array.from(
    { length: 16 },
    (_, number) => `northlight/eu/depot-${number}${'/stock'.repeat(number % 4)}`,
  )
  const paths = grants.flatMap((grant) => [grant, `${grant}/pallets/p-7`, `${grant}s/p-7`, `northlight/us/${grant}`])
  const coverage = makeCoverage(grants)
  const prefixes = grants.map((grant) => ({ grant, below: `${grant}/` }))
  const scan = (path: string) => prefixes.some(({ grant, below }) => path === grant || path.startsWith(below))
  if (paths.some((path) => coverage(path) !== scan(path))) throw new Error('both should answer alike')

  const ours = () => rate(operations, () => checkAll(coverage, paths))
  const peer = () => rate(operations, () => checkAll(scan, paths))
  await ours()
  await peer()
  const measured = await byTurns(9, ours, peer)
  const row: Row = {
    name: 'grant check, 16 grants',
    unit: 'checks/s',
    peerName: '`startsWith` on each grant',
    goal: `< ${microsecondsMax} µs`,
    ...measured,
    met: 1e6 / measured.ours < microsecondsMax,
  }
  return [row]
}
export default bench

function checkAll(isCovered: (path: string) => boolean, paths: readonly string[]): void {
  let covered = 0
  for (let count = 0; count < operations; count++) if (isCovered(paths[count % paths.length] ?? '')) covered++
  if (covered !== operations / 2) throw new Error('half of the paths should be covered')
}

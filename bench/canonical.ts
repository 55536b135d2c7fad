import canonicalize from 'canonicalize'
import { canonical } from '../src/base/canonical.ts'
import { atLeast, type Bench, byTurns, rate } from './measure.ts'
import { payloadOf } from './records.ts'

const operations = 20_000

const bench: Bench = async () => {
  const rows = []
  for (const bytes of [300, 1600]) {
    const value = payloadOf(bytes)
    const repeat = (write: (value: never) => unknown) => () =>
      rate(operations, () => {
        for (let count = 0; count < operations; count++) write(value as never)
      })
    await repeat(canonical)()
    await repeat(canonicalize)()
    const measured = await byTurns(9, repeat(canonical), repeat(canonicalize))
    rows.push(atLeast(`canonical JSON, ${bytes} B`, 'values/s', 'canonicalize', 1.5, measured))
  }
  return rows
}
export default bench

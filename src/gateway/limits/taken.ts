import { micro } from '../../base/amount.ts'
import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import type { ToWrite } from '../attempt.ts'
import { CallEnded, type Effect } from '../ended.ts'

/** Counts what a call answers, where a budget has reserved bytes for it: no more than those goes on its way. */
export function counted(data: Json, { reserved, taken }: ToWrite, effect: Effect): Json {
  const most = reserved.find(({ amounts }) => amounts.bytes !== undefined)?.amounts.bytes
  if (most === undefined) return data
  const bytes = taken.bytes + Buffer.byteLength(JSON.stringify(data))
  taken.bytes = Math.min(bytes, most)
  if (bytes <= most) return data
  const message = `the result has more than the ${most} bytes that are reserved for it`
  throw new CallEnded('result_too_large', message, { effect, type: 'ResultTooLarge' })
}

/** Notes what the handler says that the call has cost. */
export function spend({ taken }: ToWrite, cost: number | string): void {
  if (!/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/.test(String(cost)))
    throw new Failure('field.invalid', 'a cost is a whole number or decimal text, and not negative')
  taken.cost = micro(cost, 'up')
}

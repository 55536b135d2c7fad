import assert from 'node:assert/strict'
import { Failure, quote } from '../../base/failure.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Change, number, row, type Work } from '../work.ts'

export interface Addition {
  readonly scope: string
  readonly key: string
  /** A whole number, not negative: what was counted is not given back. */
  readonly amount: number
  readonly max: number
}

/**
 * Adds to a counter unless it would then be more than `max`, and answers its new value; otherwise
 * `counter.exceeded`, with what is `used`. Whoever adds at the same time, from whichever process, comes one by one.
 */
export const addWithin = ({ scope, key, amount, max }: Addition): Change<number> =>
  function* (tenant) {
    assert(Number.isSafeInteger(amount) && amount >= 0 && Number.isSafeInteger(max))
    // A counter that is not there yet meets no condition of the statement.
    const added = amount > max ? undefined : yield* row(add, tenant, scope, key, amount, max)
    if (added !== undefined) return number(added, 'value')
    const used = yield* countOf(tenant, scope, key)
    throw new Failure('counter.exceeded', `${quote(scope)}: ${amount} more than ${used} is over ${max}`, { used, max })
  }

const add = `INSERT INTO counters (tenant_id, scope, counter_key, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (tenant_id, scope, counter_key) DO UPDATE SET value = counters.value + excluded.value
  WHERE counters.value + excluded.value <= ? RETURNING value`

/** The value of a counter; 0 when nothing was ever added to it. */
export function* countOf(tenant: TenantId, scope: string, key: string): Work<number> {
  const found = yield* row(
    'SELECT value FROM counters WHERE tenant_id = ? AND scope = ? AND counter_key = ?',
    tenant,
    scope,
    key,
  )
  return found === undefined ? 0 : number(found, 'value')
}

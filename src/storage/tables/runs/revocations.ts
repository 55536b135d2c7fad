import type { Revocation } from '../../../model/grant.ts'
import type { Tenant } from '../../../model/identity/tenant.ts'
import type { TenantId } from '../../../model/identity/tenant-id.ts'
import { revocations } from '../../schema.ts'
import { type Change, number, type Row, row, type Statement, sql, type Work } from '../../work.ts'
import { bodyOf } from '../records.ts'
import { noTenant } from '../tenants.ts'

/**
 * The roots of a tenant and its last revocation. Revocations count up: those after the number that was the last when a
 * grant was minted may end it.
 */
export function* rootsAndLast(tenant: TenantId): Work<{ readonly roots: readonly string[]; readonly last: number }> {
  const found = yield* row(selectBoth, tenant)
  if (found === undefined) throw noTenant(tenant)
  return { roots: bodyOf<Tenant>(found).roots, last: number(found, 'last') }
}

const selectBoth = `SELECT body, (SELECT MAX(number) FROM revocations r WHERE r.tenant_id = t.tenant_id) AS last
  FROM tenants t WHERE tenant_id = ?`

function* lastRevocation(tenant: TenantId): Work<number> {
  const found = yield* row('SELECT MAX(number) AS last FROM revocations WHERE tenant_id = ?', tenant)
  return found === undefined ? 0 : number(found, 'last')
}

export type NumberedRevocation = Revocation & { readonly number: number }

export function* revocationsAfter(tenant: TenantId, after: number): Work<readonly NumberedRevocation[]> {
  const [found = []] = yield [askRevocations(tenant, after)]
  return found.map(readRevocation)
}

export const askRevocations = (tenant: TenantId, after: number): Statement =>
  sql('SELECT number, body FROM revocations WHERE tenant_id = ? AND number > ? ORDER BY number', tenant, after)

export const readRevocation = (found: Row): NumberedRevocation => ({
  ...bodyOf<Revocation>(found),
  number: number(found, 'number'),
})

export const addRevocation = (revocation: Revocation): Change<void> =>
  function* (tenant) {
    const last = yield* lastRevocation(tenant)
    yield [{ into: revocations, rows: [[tenant, last + 1, JSON.stringify(revocation)]] }]
  }

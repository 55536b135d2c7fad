import type { Approver } from '../../model/approval.ts'
import type { ApiKey } from '../../model/identity/key.ts'
import type { Principal } from '../../model/identity/principal.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../page.ts'
import { apiKeys, approvers, principals } from '../schema.ts'
import { rows, type Work } from '../work.ts'
import { bodyOf, recordsIn } from './records.ts'

export const principalRecords = recordsIn<Principal>(principals, 'principal', ({ principal_id }) => ({ principal_id }))

export const keyRecords = recordsIn<ApiKey>(apiKeys, 'key', ({ key_id, principal_id }) => ({
  key_id,
  principal_id,
}))

/** Every key of one principal, in order of id; a principal has few. */
export function* keysOf(tenant: TenantId, principalId: string): Work<readonly ApiKey[]> {
  const select = 'SELECT body FROM api_keys WHERE tenant_id = ? AND principal_id = ? ORDER BY key_id'
  return (yield* rows(select, tenant, principalId)).map(bodyOf<ApiKey>)
}

export const approverRecords = recordsIn<Approver>(approvers, 'approver', ({ approver_id }) => ({ approver_id }))

/** The entries, of everybody or of one, whose principal is a person who has not been revoked: no others ever count. */
export function* approversInOffice(tenant: TenantId, principal?: string): Work<readonly Approver[]> {
  const all = yield* allPages((options) => approverRecords.list(tenant, options))
  const entries = principal === undefined ? all : all.filter((approver) => approver.principal === principal)
  const people = new Set<string>()
  for (const id of new Set(entries.map((approver) => approver.principal))) {
    const found = yield* principalRecords.find(tenant, id)
    if (found?.kind === 'user' && found.status === 'active') people.add(id)
  }
  return entries.filter((approver) => people.has(approver.principal))
}

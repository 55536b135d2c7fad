import type { Approver } from '../../model/approval.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../page.ts'
import { approvers } from '../schema.ts'
import type { Work } from '../work.ts'
import { principalRecords } from './identities.ts'
import { recordsIn } from './records.ts'

export const approverRecords = recordsIn<Approver>(approvers, 'approver', (record) => [record.approver_id])

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

import type { ApiKey } from '../../model/identity/key.ts'
import type { Principal } from '../../model/identity/principal.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { apiKeys, principals } from '../schema.ts'
import { rows, type Work } from '../work.ts'
import { bodyOf, recordsIn } from './records.ts'

export const principalRecords = recordsIn<Principal>(principals, 'principal', (record) => [record.principal_id])

export const keyRecords = recordsIn<ApiKey>(apiKeys, 'key', (record) => [record.key_id, record.principal_id])

/** Every key of one principal, in order of id; a principal has few. */
export function* keysOf(tenant: TenantId, principalId: string): Work<readonly ApiKey[]> {
  const select = 'SELECT body FROM api_keys WHERE tenant_id = ? AND principal_id = ? ORDER BY key_id'
  return (yield* rows(select, tenant, principalId)).map(bodyOf<ApiKey>)
}

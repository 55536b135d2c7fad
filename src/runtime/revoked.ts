import { revocationHead } from '../evidence/head.ts'
import type { MandateRevocation } from '../model/mandate.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { allPages } from '../storage/page.ts'
import { listStatements, type StoredStatement } from '../storage/statements.ts'
import type { Work } from '../storage/work.ts'

/** The statements of one kind that a tenant keeps. */
export function* statementsOf<T>(tenant: TenantId, kind: StoredStatement['kind']): Work<readonly T[]> {
  const found = yield* allPages((options) => listStatements(tenant, kind, options))
  return found.map(({ body }) => JSON.parse(body) as T)
}

/** The revocations of mandates that a tenant keeps. */
export const revokedMandates = (tenant: TenantId) => statementsOf<MandateRevocation>(tenant, 'revocation')

/** One digest over what is revoked: mandates, and keys of the host. */
export const headOfRevoked = (mandates: readonly MandateRevocation[], keyIds: readonly string[]): string =>
  revocationHead({
    mandates: mandates.map(({ mandate_id, principal }) => ({
      mandateId: mandate_id,
      principalKey: principal.public_key,
    })),
    keyIds,
  })

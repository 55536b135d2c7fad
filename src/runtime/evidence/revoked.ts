import { revocationHead } from '../../evidence/statements/head.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { MandateRevocation } from '../../model/wire/mandate.ts'
import { allPages } from '../../storage/page.ts'
import { listStatements } from '../../storage/tables/statements.ts'
import type { Work } from '../../storage/work.ts'

/** The revocations of mandates that a tenant keeps. */
export function* revokedMandates(tenant: TenantId): Work<readonly MandateRevocation[]> {
  const found = yield* allPages((options) => listStatements(tenant, 'revocation', options))
  return found.map(({ body }) => JSON.parse(body) as MandateRevocation)
}

/** One digest over what is revoked: mandates, and keys of the host. */
export const headOfRevoked = (mandates: readonly MandateRevocation[], keyIds: readonly string[]): string =>
  revocationHead({
    mandates: mandates.map(({ mandate_id, principal }) => ({
      mandateId: mandate_id,
      principalKey: principal.public_key,
    })),
    keyIds,
  })

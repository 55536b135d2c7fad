import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { MandateRevocation } from '../../model/wire/mandate.ts'
import { allPages, type PageOptions, pageBy } from '../page.ts'
import { type Change, counted, oneStatement, record, type Work } from '../work.ts'

/** A signed statement we received about a chain or a mandate, as JSON text: kept beside the store, never an event. */
export interface StoredStatement {
  readonly kind: 'revocation' | 'witness' | 'anchor'
  readonly id: string
  readonly body: string
}

/** Keeps a statement and answers true; one with this id that is there already stays as it is, and false is answered. */
export const addStatement = ({ kind, id, body }: StoredStatement): Change<boolean> =>
  oneStatement(
    (tenant) => counted(add, tenant, kind, id, body),
    (count) => count === 1,
  )

const add = `INSERT INTO statements (tenant_id, kind, statement_id, body) VALUES (?, ?, ?, ?)
  ON CONFLICT (tenant_id, kind, statement_id) DO NOTHING`

/** The statements of one kind, in order of id. */
export function listStatements(tenant: TenantId, kind: StoredStatement['kind'], options: PageOptions = {}) {
  const select = `SELECT kind, statement_id AS id, body FROM statements
    WHERE tenant_id = ? AND kind = ? AND statement_id > ? ORDER BY statement_id LIMIT ?`
  return pageBy('id', options, [select, tenant, kind], record<StoredStatement>)
}

/** The revocations of mandates that a tenant keeps. */
export function* revokedMandates(tenant: TenantId): Work<readonly MandateRevocation[]> {
  const found = yield* allPages((options) => listStatements(tenant, 'revocation', options))
  return found.map(({ body }) => JSON.parse(body) as MandateRevocation)
}

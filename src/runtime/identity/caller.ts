import { Failure } from '../../base/failure.ts'
import type { Subject } from '../../model/identity/subject.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'

/** Who asks, as far as we know it: always of one tenant, always with a subject that evidence can name. */
export interface Caller {
  readonly tenant: TenantId
  readonly subject: Subject
  /** What the credential allows: capability ids, or beginnings of them with a `*`; empty means all. */
  readonly scopes: readonly string[]
  readonly rights: readonly Right[]
  /** What the directory lets this principal do, and what it has taken back. */
  readonly permissions: readonly string[]
  readonly revokedPermissions: readonly string[]
}

/** `administer`: change a tenant's people, keys and secrets. `audit`: read all of its evidence. */
export type Right = 'administer' | 'audit'

/** Code that can open the store and its keys, such as an embedding program: trusted with everything, and never verified. */
export const operator = (tenant: TenantId): Caller => ({
  tenant,
  subject: { id: 'operator', type: 'user', verified: false, tenant },
  scopes: [],
  rights: ['administer', 'audit'],
  permissions: [],
  revokedPermissions: [],
})

/** Somebody without a credential: may look, and call what is open to everybody. Changes nothing of Ambit's own state. */
export const anonymous = (tenant: TenantId): Caller => ({
  ...operator(tenant),
  subject: { id: 'anonymous', type: 'user', verified: false, tenant },
  rights: ['audit'],
})

/** The rights that roles give: `admin` both, `auditor` the second. A key limited to capabilities has neither. */
export function rightsOf(roles: readonly string[], scopes: readonly string[]): readonly Right[] {
  if (scopes.length > 0) return []
  if (roles.includes('admin')) return ['administer', 'audit']
  return roles.includes('auditor') ? ['audit'] : []
}

/** Refuses a caller without the right. */
export function demand(caller: Caller, right: Right): void {
  if (caller.rights.includes(right)) return
  const role = right === 'administer' ? '`admin`' : '`auditor` or `admin`'
  const help = `use an unscoped key of a principal with the role ${role}`
  throw new Failure('caller.not_permitted', `this key may not ${right}`, { right }, help)
}

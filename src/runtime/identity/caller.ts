import { Failure } from '../../base/failure.ts'
import type { Principal } from '../../model/identity/principal.ts'
import type { Subject } from '../../model/identity/subject.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'

/** Who asks: always of one tenant, always with a subject that evidence can name. */
export interface Caller {
  readonly tenant: TenantId
  readonly subject: Subject
  /** The capabilities that the credential is for: ids, or beginnings of them with a `*`; empty means all. */
  readonly scopes: readonly string[]
  readonly rights: readonly Right[]
  /** The permissions of the principal, and those that were withdrawn. */
  readonly permissions: readonly string[]
  readonly revokedPermissions: readonly string[]
  /** The name that calls without a verified subject are kept under. */
  readonly name?: string
}

/** `administer`: change a tenant's people, keys and secrets. `audit`: read all of its evidence. */
export type Right = 'administer' | 'audit'

/** Code that can open the store and its keys, such as an embedding program: fully trusted, never verified. */
export const operator = (tenant: TenantId): Caller => ({
  tenant,
  subject: { id: 'operator', type: 'user', verified: false, tenant },
  scopes: [],
  rights: ['administer', 'audit'],
  permissions: [],
  revokedPermissions: [],
})

/** A caller without a name of its own: may read, unless limited to capabilities, and call what is open to everyone. */
export const anonymous = (tenant: TenantId, scopes: readonly string[] = []): Caller => ({
  ...operator(tenant),
  subject: { id: 'anonymous', type: 'user', verified: false, tenant },
  scopes,
  rights: scopes.length === 0 ? ['audit'] : [],
})

/** Who reads the records of a tenant: all of them, or those of one subject; null for a caller without a verified name. */
export interface Reader {
  readonly tenant: TenantId
  readonly subject: string | null
  readonly all: boolean
}

export const readerOf = ({ tenant, subject, rights }: Caller): Reader => ({
  tenant,
  subject: subject.verified === true ? subject.id : null,
  all: rights.includes('audit'),
})

/** The rights that roles give: `admin` both, `auditor` the second. A key limited to capabilities has neither. */
function rightsOf(roles: readonly string[], scopes: readonly string[]): readonly Right[] {
  if (scopes.length > 0) return []
  if (roles.includes('admin')) return ['administer', 'audit']
  return roles.includes('auditor') ? ['audit'] : []
}

/** A caller that a credential names, with the rights and permissions of its principal, where there is one. */
export function verifiedCaller(
  subject: Subject,
  tenant: TenantId,
  principal: Principal | undefined,
  scopes: readonly string[],
): Caller {
  const { roles = [], permissions = [], revoked_permissions = [] } = principal ?? {}
  return {
    tenant,
    subject: { ...subject, verified: true, tenant, roles: [...roles] },
    scopes,
    rights: rightsOf(roles, scopes),
    permissions,
    revokedPermissions: revoked_permissions,
  }
}

/** Refuses a caller without the right. */
export function demand(caller: Caller, right: Right): void {
  if (caller.rights.includes(right)) return
  const role = right === 'administer' ? '`admin`' : '`auditor` or `admin`'
  const help = `use an unscoped key of a principal with the role ${role}`
  throw new Failure('caller.not_permitted', `this key may not ${right}`, { right }, help)
}

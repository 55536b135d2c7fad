import { Failure } from '../../base/failure.ts'
import type { CallCaller } from '../../gateway/call.ts'
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

/** `administer`: change a tenant's people, keys and secrets. `audit`: read all of its evidence. `mint`: give runs grants. */
export type Right = 'administer' | 'audit' | 'mint'

/** Code that can open the store and its keys, such as an embedding program: fully trusted, never verified. */
export const operator = (tenant: TenantId): Caller => ({
  tenant,
  subject: { id: 'operator', type: 'user', verified: false, tenant },
  scopes: [],
  rights: ['administer', 'audit', 'mint'],
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

/** The rights that roles give: `admin` all. A key limited to capabilities may mint, and neither read nor change the tenant. */
function rightsOf(roles: readonly string[], scopes: readonly string[]): readonly Right[] {
  const mint: readonly Right[] = roles.includes('grantor') ? ['mint'] : []
  if (scopes.length > 0) return mint
  if (roles.includes('admin')) return ['administer', 'audit', 'mint']
  return roles.includes('auditor') ? ['audit', ...mint] : mint
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

const roleFor = { administer: '`admin`', audit: '`auditor` or `admin`', mint: '`grantor` or `admin`' }

/** Refuses a caller without the right. */
export function demand(caller: Caller, right: Right): void {
  if (caller.rights.includes(right)) return
  const help = `use ${right === 'mint' ? 'a' : 'an unscoped'} key of a principal with the role ${roleFor[right]}`
  throw new Failure('caller.not_permitted', `this key may not ${right}`, { right }, help)
}

/** Whether a caller has a name of its own: the embedding program and the holder of a key have one. */
export const hasName = ({ subject, rights }: Caller): boolean =>
  subject.verified === true || rights.includes('administer')

/** Refuses a caller without a name of its own. */
export function demandName(caller: Caller): void {
  if (hasName(caller)) return
  const help = 'put the key of a principal into AMBIT_KEY, or send it'
  throw new Failure('unauthenticated', 'this needs a caller that is known by a key', {}, help)
}

/** The caller as the gateway sees it. A caller that is not verified has a name that no key can have. */
export const callerOf = ({ subject, name, scopes, permissions, revokedPermissions }: Caller): CallCaller => ({
  subject: subject.verified === true ? subject : null,
  name: subject.verified === true ? `principal:${subject.id}` : (name ?? `unverified:${subject.id}`),
  scopes,
  permissions,
  revokedPermissions,
})

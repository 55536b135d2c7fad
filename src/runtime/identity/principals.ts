import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import type { Principal } from '../../model/identity/principal.ts'
import { permission as permissionShape, principal as principalShape } from '../../model/identity/principal.ts'
import { parseAs } from '../../model/parse.ts'
import { principalRecords } from '../../storage/tables/identities.ts'
import type { Change } from '../../storage/work.ts'
import type { Runtime } from '../runtime.ts'
import { administer, listOf, type OwnEvent, type Recordable } from './admin.ts'
import type { Caller } from './caller.ts'

export interface NewPrincipal {
  readonly id: string
  readonly kind: Principal['kind']
  readonly display?: string
  readonly roles?: readonly string[]
  readonly permissions?: readonly string[]
}

/** Adds a person, service, agent or automation to the caller's tenant. */
export async function createPrincipal(ambit: Runtime, caller: Caller, wish: NewPrincipal): Promise<Principal> {
  const { type, payload, change } = draftPrincipal(ambit, wish)
  return administer(ambit, caller, type, payload, change)
}

export function draftPrincipal(ambit: Runtime, wish: NewPrincipal): Recordable<Principal> {
  const made: Principal = {
    principal_id: wish.id,
    kind: wish.kind,
    display: wish.display ?? null,
    roles: [...(wish.roles ?? [])],
    permissions: [...new Set(wish.permissions)],
    revoked_permissions: [],
    status: 'active',
    created_at: formatTime(ambit.clock.now()),
  }
  const principal = parseAs(principalShape, made, 'principal')
  const { principal_id, kind, roles, permissions } = principal
  const change: Change<Principal> = function* (tenant) {
    yield* principalRecords.add(principal)(tenant)
    return principal
  }
  return { type: 'ambit.principal.created', payload: { principal_id, kind, roles, permissions }, change }
}

/** Ends a principal: from now on none of its keys is accepted. Its record and history stay. */
export async function revokePrincipal(ambit: Runtime, caller: Caller, id: string): Promise<Principal> {
  const end = principalRecords.amend(id, (principal) => ({ ...principal, status: 'revoked' }))
  return administer(ambit, caller, 'ambit.principal.revoked', { principal_id: id }, end)
}

/** Gives a principal a permission; one that was withdrawn counts again. */
export const permit = changePermission('ambit.permission.given', (principal, permission) => ({
  ...principal,
  permissions: [...remove(principal.permissions, permission), permission],
  revoked_permissions: remove(principal.revoked_permissions, permission),
}))

/** Takes a permission back; one that the principal does not have is `permission.not_found`. */
export const withdraw = changePermission('ambit.permission.withdrawn', (principal, permission) => {
  const { principal_id: id, permissions, revoked_permissions } = principal
  if (permissions.includes(permission))
    return {
      ...principal,
      permissions: remove(permissions, permission),
      revoked_permissions: [...revoked_permissions, permission],
    }
  const message = `${quote(id)} does not have the permission ${quote(permission)}`
  throw new Failure('permission.not_found', message, { id, permission })
})

function changePermission(type: OwnEvent, next: (principal: Principal, permission: string) => Principal) {
  return async (ambit: Runtime, caller: Caller, id: string, permission: string): Promise<Principal> => {
    parseAs(permissionShape, permission, 'permission')
    const change = principalRecords.amend(id, (principal) => next(principal, permission))
    return administer(ambit, caller, type, { principal_id: id, permission }, change)
  }
}

const remove = (permissions: readonly string[], permission: string): string[] =>
  permissions.filter((each) => each !== permission)

/** The principal of this id, unless it was revoked. */
export const activePrincipal = (id: string): Change<Principal> =>
  function* (tenant) {
    const principal = yield* principalRecords.get(tenant, id)
    if (principal.status === 'active') return principal
    throw new Failure('principal.inactive', 'this principal has been revoked', { id })
  }

/** The tenant's principals, in order of id. */
export const principalsOf = listOf(principalRecords)

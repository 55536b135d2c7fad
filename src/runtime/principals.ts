import { formatTime } from '../base/time.ts'
import { parseAs } from '../model/parse.ts'
import { type Principal, principal as principalShape } from '../model/principal.ts'
import { principalRecords } from '../storage/identities.ts'
import type { Page, PageOptions } from '../storage/page.ts'
import { administer } from './admin.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand } from './caller.ts'

export interface NewPrincipal {
  readonly id: string
  readonly kind: Principal['kind']
  readonly display?: string
  readonly roles?: readonly string[]
}

/** Adds a person, service, agent or automation to the caller's tenant. */
export async function createPrincipal(ambit: Ambit, caller: Caller, wish: NewPrincipal): Promise<Principal> {
  const made: Principal = {
    principal_id: wish.id,
    kind: wish.kind,
    display: wish.display ?? null,
    roles: [...(wish.roles ?? [])],
    status: 'active',
    created_at: formatTime(ambit.clock.now()),
  }
  const principal = parseAs(principalShape, made, 'principal')
  const { principal_id, kind, roles } = principal
  await administer(
    ambit,
    caller,
    'ambit.principal.created',
    { principal_id, kind, roles },
    principalRecords.add(principal),
  )
  return principal
}

/** Ends a principal: from now on none of its keys is accepted. Its record and history stay. */
export const revokePrincipal = (ambit: Ambit, caller: Caller, id: string): Promise<Principal> =>
  administer(
    ambit,
    caller,
    'ambit.principal.revoked',
    { principal_id: id },
    principalRecords.amend(id, (principal) => ({ ...principal, status: 'revoked' })),
  )

/** The tenant's principals, in order of id. */
export async function principalsOf(ambit: Ambit, caller: Caller, options?: PageOptions): Promise<Page<Principal>> {
  demand(caller, 'audit')
  return ambit.store.read(() => principalRecords.list(caller.tenant, options))
}

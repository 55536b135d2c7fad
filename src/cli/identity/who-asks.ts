import { Failure, quote } from '../../base/failure.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { authenticate } from '../../runtime/identity/api-keys.ts'
import { anonymous, type Caller, demand, operator } from '../../runtime/identity/caller.ts'
import { firstTenant, suspendedTenant, tenantOf } from '../../runtime/identity/tenants.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Errand } from '../ambit.ts'
import type { CommonOptions } from '../session.ts'
import type { Io } from '../terminal/io.ts'

type Opened = Pick<Runtime, 'store' | 'clock' | 'settings'>

/** The holder of `AMBIT_KEY`, as of now: a revoked key is refused. Without a key, a caller who may only look. */
export async function whoAsks(ambit: Opened, io: Io, { tenant }: CommonOptions): Promise<Caller> {
  const key = io.env['AMBIT_KEY']
  if (key) return holderOf(ambit, key, tenant)
  const caller = anonymous(tenant === undefined ? ambit.settings.tenant : tenantId(tenant))
  // A tenant that does not exist is said to be missing, not empty.
  if ((await tenantOf(ambit, caller)).status === 'active') return caller
  throw suspendedTenant(caller.tenant)
}

/** The caller of one operation over the store here. */
export async function callerFor(ambit: Opened, io: Io, options: CommonOptions, errand: Errand): Promise<Caller> {
  const { path, operation, administers } = errand
  const [group, verb] = path
  if (group === 'tenants' && (verb === 'revoke' || verb === 'resume'))
    return storeAdministrator(ambit, io, verb === 'resume')
  if (administers) return administratorOf(ambit, io, options)
  const caller = await whoAsks(ambit, io, options)
  if (operation.right !== 'decide' || caller.subject.verified === true) return caller
  const help = 'put the API key of a registered approver into AMBIT_KEY'
  throw new Failure('approver.not_permitted', 'only an approver with an API key may decide', {}, help)
}

/** The administrator whose key is in `AMBIT_KEY` or typed at the terminal. `suspended` accepts one of a suspended tenant. */
export async function administratorOf(
  ambit: Opened,
  io: Io,
  options: CommonOptions & { readonly suspended?: boolean },
) {
  const { tenant, suspended = false } = options
  const key = io.env['AMBIT_KEY'] || (await io.askHidden('key of an administrator'))
  const help = 'put it into AMBIT_KEY, or run this at a terminal and type it'
  if (!key) throw new Failure('unauthenticated', 'this needs the key of an administrator', {}, help)
  const caller = await holderOf(ambit, key, tenant, suspended)
  demand(caller, 'administer')
  return caller
}

/** A process that serves agents must not hold a key with which they could approve themselves. */
export function refuseAdministrator({ rights }: Caller): void {
  if (!rights.includes('administer')) return
  const message = 'this serves agents, and AMBIT_KEY is the key of an administrator'
  throw new Failure('caller.not_permitted', message, {}, "unset AMBIT_KEY, or put the agent's own key there")
}

/**
 * The caller for work on whole tenants: an administrator of the first tenant of the store, whatever a configuration says,
 * because anybody can write one. Where there is no tenant yet, anybody: there is nothing to lose.
 */
export async function storeAdministrator(ambit: Opened, io: Io, suspended = false): Promise<Caller> {
  const first = await firstTenant(ambit)
  if (first === undefined) return operator(ambit.settings.tenant)
  return administratorOf(ambit, io, { tenant: first.tenant_id, suspended })
}

async function holderOf(ambit: Opened, key: string, tenant: string | undefined, suspended?: boolean): Promise<Caller> {
  const caller = await authenticate(ambit, key, suspended)
  if (tenant === undefined || tenant === caller.tenant) return caller
  throw new Failure('tenant.mismatch', 'the key is of another tenant', {}, `use a key of tenant ${quote(tenant)}`)
}

import { Failure, quote } from '../base/failure.ts'
import { tenantId } from '../model/tenant-id.ts'
import type { Ambit } from '../runtime/ambit.ts'
import { authenticate } from '../runtime/api-keys.ts'
import { type Caller, operator } from '../runtime/caller.ts'
import { tenantOf } from '../runtime/tenants.ts'
import type { Io } from './io.ts'
import type { CommonOptions } from './session.ts'

/** Whoever `AMBIT_KEY` says, as of now: a key that was taken back is refused. */
export async function whoAsks(ambit: Ambit, io: Io, { tenant }: CommonOptions): Promise<Caller> {
  const key = io.env['AMBIT_KEY']
  if (!key) return operatorOf(ambit, tenant)
  const caller = await authenticate(ambit, key)
  if (tenant === undefined || tenant === caller.tenant) return caller
  const help = `use a key of tenant ${quote(tenant)}, or none to act as the operator of this machine`
  throw new Failure('tenant.mismatch', 'the key is of another tenant', {}, help)
}

/** A tenant that is not there is said to be missing, not empty. */
async function operatorOf(ambit: Ambit, tenant: string | undefined): Promise<Caller> {
  const caller = operator(tenant === undefined ? ambit.settings.tenant : tenantId(tenant))
  await tenantOf(ambit, caller)
  return caller
}

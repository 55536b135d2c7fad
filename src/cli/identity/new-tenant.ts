import type { IssuedKey } from '../../model/identity/key.ts'
import type { Subject } from '../../model/identity/subject.ts'
import type { Tenant } from '../../model/identity/tenant.ts'
import { createTenantWithAdmin, type NewTenant } from '../../runtime/identity/tenants.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type Io, line } from '../terminal/io.ts'
import { printIssued } from './key.ts'

type MadeTenant = Tenant & { readonly key_id: string; readonly public_key: string; readonly admin: IssuedKey }

/** Makes a tenant and its first administrator, who has the one key that is shown now. */
export async function makeTenant(ambit: Runtime, wish: NewTenant, by?: Subject): Promise<MadeTenant> {
  const { tenant, issued } = await createTenantWithAdmin(ambit, wish, by)
  const { keyId, publicKey } = await ambit.keyring.publicKeys(tenant.host_id)
  return { ...tenant, key_id: keyId, public_key: publicKey, admin: issued }
}

export function printTenant(io: Io, { tenant_id, host_id, key_id, public_key, admin }: MadeTenant): void {
  line(io, `tenant \`${tenant_id}\` made; it signs as \`${host_id}\` with key ${key_id}`)
  line(io, `give this public key to those who verify evidence: ${public_key}`)
  printIssued(io, admin)
  line(io, 'it makes people, keys and approvers: keep it away from agents. No command replaces a lost one')
}

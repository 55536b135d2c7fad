import type { Runtime } from '../runtime.ts'
import { administer } from './admin.ts'
import { type Caller, demand } from './caller.ts'

/**
 * Keeps a secret of the caller's tenant. Evidence says who set it and its name, and nothing of its value; secrets lie
 * beside the store, so the record follows the change instead of being part of it.
 */
export async function setSecret(ambit: Runtime, caller: Caller, name: string, value: string): Promise<void> {
  demand(caller, 'administer')
  await ambit.secrets.set(caller.tenant, name, value)
  await administer(ambit, caller, 'ambit.secret.set', { name })
}

/** Forgets a secret. */
export async function removeSecret(ambit: Runtime, caller: Caller, name: string): Promise<void> {
  demand(caller, 'administer')
  await ambit.secrets.remove(caller.tenant, name)
  await administer(ambit, caller, 'ambit.secret.removed', { name })
}

/** The names of the tenant's secrets and when they were set. */
export async function secretsOf(
  ambit: Runtime,
  caller: Caller,
): Promise<readonly { readonly name: string; readonly created_at: string }[]> {
  demand(caller, 'audit')
  return (await ambit.secrets.list(caller.tenant)).map(({ name, createdAt }) => ({ name, created_at: createdAt }))
}

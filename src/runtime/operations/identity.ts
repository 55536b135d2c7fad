import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { formatTime } from '../../base/time.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { issueKey, keysIn, renewKeys, revokeKey, rotateKey } from '../identity/api-keys.ts'
import { addApprover, approversOf, revokeApprover } from '../identity/approvers.ts'
import type { Caller } from '../identity/caller.ts'
import { createPrincipal, permit, principalsOf, revokePrincipal, withdraw } from '../identity/principals.ts'
import { removeSecret, secretsOf, setSecret } from '../identity/secrets.ts'
import { firstTenant, identityOf, rotateTenantKey, setTenantStatus } from '../identity/tenants.ts'
import { listed } from '../pages.ts'
import type { Runtime } from '../runtime.ts'
import { type HandlersOf, msOf } from './context.ts'

export const identityHandlers: HandlersOf<'principals' | 'keys' | 'approvers' | 'secrets' | 'tenants'> = {
  principals: {
    create: ({ ambit, caller }, { kind = 'user', ...wish }) =>
      createPrincipal(ambit, caller, defined({ kind, ...wish })),
    list: async ({ ambit, caller }, page) => listed('principals', await principalsOf(ambit, caller, defined(page))),
    permit: ({ ambit, caller }, { id, permission }) => permit(ambit, caller, id, permission),
    withdraw: ({ ambit, caller }, { id, permission }) => withdraw(ambit, caller, id, permission),
    rotate: ({ ambit, caller }, { id }) => renewKeys(ambit, caller, id),
    revoke: ({ ambit, caller }, { id }) => revokePrincipal(ambit, caller, id),
  },
  keys: {
    create: ({ ambit, caller }, { expires, ...wish }) =>
      issueKey(ambit, caller, defined({ ...wish, expiresInMs: msOf(expires) })),
    list: async ({ ambit, caller }, options) => {
      const { items, ...next } = await keysIn(ambit, caller, defined(options))
      return { keys: items.map(({ secret_hash: _, ...key }) => key), ...next }
    },
    rotate: ({ ambit, caller }, { id, grace }) => rotateKey(ambit, caller, id, msOf(grace)),
    revoke: async ({ ambit, caller }, { id }) => {
      await revokeKey(ambit, caller, id)
      return { key_id: id, revoked: true }
    },
  },
  approvers: {
    add: ({ ambit, caller }, { principal, roles, key, expires }) => {
      const ms = msOf(expires)
      const validUntil = ms === undefined ? undefined : formatTime(ambit.clock.now() + ms)
      return addApprover(ambit, caller, defined({ principal, roles, publicKey: key, validUntil }))
    },
    list: async ({ ambit, caller }, page) => listed('approvers', await approversOf(ambit, caller, defined(page))),
    revoke: async ({ ambit, caller }, { id }) => {
      await revokeApprover(ambit, caller, id)
      return { approver_id: id, revoked: true }
    },
  },
  secrets: {
    set: async ({ ambit, caller }, { name, value }) => {
      await setSecret(ambit, caller, name, value)
      return { name, handle: `secret:${name}` }
    },
    list: async ({ ambit, caller }) => ({ secrets: [...(await secretsOf(ambit, caller))] }),
    remove: async ({ ambit, caller }, { name }) => {
      await removeSecret(ambit, caller, name)
      return { name, removed: true }
    },
  },
  tenants: {
    identity: ({ ambit, caller }, { id }) => identityOf(ambit, { ...caller, tenant: tenantId(id) }),
    rotate: ({ ambit, caller }, { id, revoke = false }) => {
      if (caller.tenant !== id)
        throw new Failure('tenant.mismatch', 'the key is of another tenant', {}, `use a key of tenant ${quote(id)}`)
      return rotateTenantKey(ambit, caller, { revokeOld: revoke })
    },
    revoke: async ({ ambit, caller }, { id }) =>
      setTenantStatus(ambit, await storeAdministrator(ambit, caller, id), 'suspended'),
    resume: async ({ ambit, caller }, { id }) =>
      setTenantStatus(ambit, await storeAdministrator(ambit, caller, id), 'active'),
  },
}

/** The caller, for a change of a whole tenant: an administrator of the first tenant of the store, or the embedding program. */
async function storeAdministrator(ambit: Runtime, caller: Caller, id: string): Promise<Caller> {
  const first = await firstTenant(ambit)
  const isOperator = caller.subject.verified !== true && caller.rights.includes('administer')
  if (isOperator || caller.tenant === first?.tenant_id) return { ...caller, tenant: tenantId(id) }
  const help = 'use the key of an administrator of the first tenant of this store'
  throw new Failure('caller.not_permitted', 'this key may not change whole tenants', {}, help)
}

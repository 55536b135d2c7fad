import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import { type ApiKey, apiKey, type IssuedKey } from '../../model/identity/key.ts'
import { type TenantId, tenantId, tenantIdPattern } from '../../model/identity/tenant-id.ts'
import { parseAs } from '../../model/parse.ts'
import type { Page, PageOptions } from '../../storage/page.ts'
import { keyRecords, keysOf, principalRecords } from '../../storage/tables/identities.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import { type Change, inOrder, type Work } from '../../storage/work.ts'
import type { Runtime } from '../runtime.ts'
import { administer, type Recordable } from './admin.ts'
import { type Caller, demand, rightsOf } from './caller.ts'

export interface NewKey {
  readonly principal: string
  readonly name?: string
  readonly scopes?: readonly string[]
  readonly expiresInMs?: number
}

/** Makes an API key. Its text is in the answer and nowhere else: the store keeps a hash of it. */
export async function issueKey(ambit: Runtime, caller: Caller, wish: NewKey): Promise<IssuedKey> {
  const { type, payload, change, issued } = draftKey(ambit, caller.tenant, wish)
  await administer(ambit, caller, type, payload, change)
  return issued
}

export function draftKey(ambit: Runtime, tenant: TenantId, wish: NewKey): Recordable & { readonly issued: IssuedKey } {
  const { key, issued } = mint(ambit, tenant, wish)
  const change = inOrder(activePrincipal(key.principal_id), keyRecords.add(key))
  return { type: 'ambit.key.issued', payload: described(key), change, issued }
}

/** Replaces a key by a new one of the same name, principal, scopes and end. The old one opens nothing any more, or only until `graceMs` have passed. */
export async function rotateKey(ambit: Runtime, caller: Caller, id: string, graceMs = 0): Promise<IssuedKey> {
  // Before the key is looked for: which keys there are is nothing for everybody.
  demand(caller, 'administer')
  const old = await ambit.store.read(() => keyRecords.get(caller.tenant, id))
  const { principal_id: principal, name, scopes } = old
  const { key, issued } = mint(ambit, caller.tenant, { principal, name, scopes })
  const replaced: Change = keyRecords.amend(id, (current) => {
    checkReplaceable(ambit, current)
    return { ...ended(ambit, current, graceMs), replaced_by: key.key_id }
  })
  const kept: ApiKey = { ...key, expires_at: old.expires_at }
  const what = inOrder(activePrincipal(old.principal_id), replaced, keyRecords.add(kept))
  await administer(ambit, caller, 'ambit.key.rotated', { ...described(kept), replaces: id }, what)
  return issued
}

/** The new key takes over the end of the old one, so an old one that is ending or has ended cannot be replaced. */
function checkReplaceable(ambit: Runtime, { key_id: id, revoked_at, replaced_by, expires_at }: ApiKey): void {
  const help = 'make a new one with `ambit key create`'
  if (replaced_by !== null)
    throw new Failure('key.not_found', `this key has been replaced by ${quote(replaced_by)}`, { id, replaced_by })
  if (revoked_at !== null) throw new Failure('key.not_found', 'this key is revoked', { id }, help)
  if (expires_at !== null && expires_at <= formatTime(ambit.clock.now()))
    throw new Failure('key.not_found', 'this key has expired', { id }, help)
}

const ended = (ambit: Runtime, key: ApiKey, graceMs: number): ApiKey => {
  const at = timeIn(ambit, graceMs, '/graceMs')
  if (graceMs === 0) return { ...key, revoked_at: at }
  return { ...key, expires_at: key.expires_at !== null && key.expires_at < at ? key.expires_at : at }
}

/** The time after so many milliseconds; refuses a negative number, and an end beyond the years we can write. */
function timeIn(ambit: Runtime, ms: number, pointer: string): string {
  const at = ambit.clock.now() + ms
  if (ms >= 0 && at <= lastTimeMs) return formatTime(at)
  throw new Failure('field.invalid', `key: \`${pointer}\` must be 0 or more and end by the year 9999`, { pointer })
}

const lastTimeMs = Date.UTC(9999, 11, 31)

/** Ends a key at once. */
export async function revokeKey(ambit: Runtime, caller: Caller, id: string): Promise<void> {
  const end = keyRecords.amend(id, (key) => (key.revoked_at === null ? ended(ambit, key, 0) : key))
  await administer(ambit, caller, 'ambit.key.revoked', { key_id: id }, end)
}

/** Gives a principal one new key and ends all its others. */
export async function renewKeys(ambit: Runtime, caller: Caller, principal: string): Promise<IssuedKey> {
  const { key, issued } = mint(ambit, caller.tenant, { principal })
  const endOthers: Change = function* (tenant) {
    for (const old of yield* keysOf(tenant, principal)) {
      const end = (current: ApiKey) =>
        current.revoked_at === null ? { ...ended(ambit, current, 0), replaced_by: key.key_id } : current
      yield* keyRecords.amend(old.key_id, end)(tenant)
    }
  }
  const what = inOrder(activePrincipal(principal), endOthers, keyRecords.add(key))
  await administer(ambit, caller, 'ambit.key.rotated', { ...described(key), replaces: 'all' }, what)
  return issued
}

/** The tenant's keys, in order of id: hashes, never secrets. */
export async function keysIn(ambit: Runtime, caller: Caller, options?: PageOptions): Promise<Page<ApiKey>> {
  demand(caller, 'audit')
  return ambit.store.read(() => keyRecords.list(caller.tenant, options))
}

function mint(ambit: Runtime, tenant: TenantId, wish: NewKey): { key: ApiKey; issued: IssuedKey } {
  const key_id = ambit.ids.next('key')
  const secret = `ambit.${tenant}.${key_id}.${randomBytes(32).toString('base64url')}`
  const made: ApiKey = {
    key_id,
    principal_id: wish.principal,
    name: wish.name ?? wish.principal,
    scopes: [...(wish.scopes ?? [])],
    secret_hash: sha256(secret),
    created_at: formatTime(ambit.clock.now()),
    expires_at: wish.expiresInMs === undefined ? null : timeIn(ambit, wish.expiresInMs, '/expiresInMs'),
    revoked_at: null,
    replaced_by: null,
  }
  const key = parseAs(apiKey, made, 'key')
  return { key, issued: { key_id, principal_id: key.principal_id, secret } }
}

const described = (key: ApiKey) => ({
  key_id: key.key_id,
  principal_id: key.principal_id,
  name: key.name,
  scopes: key.scopes,
  expires_at: key.expires_at,
})

const activePrincipal = (id: string): Change =>
  function* (tenant) {
    const { status } = yield* principalRecords.get(tenant, id)
    if (status !== 'active') throw new Failure('principal.inactive', 'this principal has been revoked', { id })
  }

const keyText = /^ambit\.([^.]{1,63})\.(key_[0-9a-z]{1,64})\.[A-Za-z0-9_-]{43}$/

/**
 * Who holds this key. Every refusal is the same `unauthenticated`, whatever the reason, after the same questions to
 * the store and one comparison in constant time: nobody learns which tenants, principals or keys exist. A suspended
 * tenant's keys are refused, unless `suspended` says that this is about ending that.
 */
export async function authenticate(
  ambit: Pick<Runtime, 'store' | 'clock'>,
  text: string,
  suspended = false,
): Promise<Caller> {
  const [, named = '', keyId = 'none'] = keyText.exec(text) ?? []
  const tenant = tenantId(tenantIdPattern.test(named) ? named : 'none')
  const { key, principal, active } = await ambit.store.read(() => lookUp(tenant, keyId))
  const matches = timingSafeEqual(Buffer.from(sha256(text)), Buffer.from(key?.secret_hash ?? sha256('')))
  const now = formatTime(ambit.clock.now())
  const live = key?.revoked_at === null && (key.expires_at === null || key.expires_at > now)
  if (!matches || !live || !(active || suspended) || principal?.status !== 'active') {
    const help = 'check that it is whole, current and of this store'
    throw new Failure('unauthenticated', 'the key is not accepted', {}, help)
  }
  const { scopes, principal_id: id } = key
  const subject = { id, type: 'api_key', verified: true, tenant, roles: [...principal.roles], key_id: keyId }
  const { permissions, revoked_permissions: revokedPermissions } = principal
  return { tenant, subject, scopes, rights: rightsOf(principal.roles, scopes), permissions, revokedPermissions }
}

/** Asks on when there is no key: how long it takes must not tell. */
function* lookUp(tenant: TenantId, keyId: string) {
  const key = yield* keyRecords.find(tenant, keyId)
  const principal = yield* principalRecords.find(tenant, key?.principal_id ?? 'none')
  return { key, principal, active: yield* isActive(tenant) }
}

function* isActive(tenant: TenantId): Work<boolean> {
  try {
    return (yield* getTenant(tenant)).status === 'active'
  } catch (error) {
    if (error instanceof Failure && error.code === 'tenant.not_found') return false
    throw error
  }
}

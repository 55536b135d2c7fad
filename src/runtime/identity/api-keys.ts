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
import { type Caller, demand, verifiedCaller } from './caller.ts'

export interface NewKey {
  readonly principal: string
  readonly name?: string
  readonly scopes?: readonly string[]
  readonly expiresInMs?: number
}

/** Makes an API key. Only the result holds its text: the store keeps a hash of it. */
export async function issueKey(ambit: Runtime, caller: Caller, wish: NewKey): Promise<IssuedKey> {
  const { type, payload, change, issued } = draftKey(ambit, caller.tenant, wish)
  await administer(ambit, caller, type, payload, change)
  return issued
}

export function draftKey(ambit: Runtime, tenant: TenantId, wish: NewKey): Recordable & { readonly issued: IssuedKey } {
  const { key, issued } = mint(ambit, tenant, wish)
  const change = inOrder(activePrincipal(key.principal_id), keyRecords.add(key))
  return { type: 'ambit.key.issued', payload: describe(key), change, issued }
}

/** Replaces a key by a new one of the same name, principal, scopes and end. The old one ends at once, or after `graceMs`. */
export async function rotateKey(ambit: Runtime, caller: Caller, id: string, graceMs = 0): Promise<IssuedKey> {
  // Before the key is looked up: only administrators may learn which keys exist.
  demand(caller, 'administer')
  const old = await ambit.store.read(() => keyRecords.get(caller.tenant, id))
  const { principal_id: principal, name, scopes } = old
  const { key, issued } = mint(ambit, caller.tenant, { principal, name, scopes })
  const replaced: Change = keyRecords.amend(id, (current) => {
    checkReplaceable(ambit, current)
    return { ...endKey(ambit, current, graceMs), replaced_by: key.key_id }
  })
  const kept: ApiKey = { ...key, expires_at: old.expires_at }
  const what = inOrder(activePrincipal(old.principal_id), replaced, keyRecords.add(kept))
  await administer(ambit, caller, 'ambit.key.rotated', { ...describe(kept), replaces: id }, what)
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

const endKey = (ambit: Runtime, key: ApiKey, graceMs: number): ApiKey => {
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
  const end = keyRecords.amend(id, (key) => (key.revoked_at === null ? endKey(ambit, key, 0) : key))
  await administer(ambit, caller, 'ambit.key.revoked', { key_id: id }, end)
}

/** Gives a principal one new key and ends all its others. */
export async function renewKeys(ambit: Runtime, caller: Caller, principal: string): Promise<IssuedKey> {
  const { key, issued } = mint(ambit, caller.tenant, { principal })
  const endOthers: Change = function* (tenant) {
    for (const old of yield* keysOf(tenant, principal)) {
      const end = (current: ApiKey) =>
        current.revoked_at === null ? { ...endKey(ambit, current, 0), replaced_by: key.key_id } : current
      yield* keyRecords.amend(old.key_id, end)(tenant)
    }
  }
  const what = inOrder(activePrincipal(principal), endOthers, keyRecords.add(key))
  await administer(ambit, caller, 'ambit.key.rotated', { ...describe(key), replaces: 'all' }, what)
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

const describe = (key: ApiKey) => ({
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
 * The holder of this key. Every refusal is the same `unauthenticated`, after the same queries and one comparison in
 * constant time: it does not reveal which tenants, principals or keys exist. Keys of a suspended tenant are refused,
 * unless `suspended` says that the tenant is to be resumed.
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
  const subject = { id: key.principal_id, type: 'api_key', key_id: keyId }
  return verifiedCaller(subject, tenant, principal, key.scopes)
}

/** Queries on when there is no key: the time it takes must not reveal that. */
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

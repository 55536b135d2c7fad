import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import { type ApiKey, apiKey, type IssuedKey } from '../../model/identity/key.ts'
import { type TenantId, tenantId, tenantIdPattern } from '../../model/identity/tenant-id.ts'
import { parseAs } from '../../model/parse.ts'
import { allPages } from '../../storage/page.ts'
import { keyRecords, keysOf, principalRecords } from '../../storage/tables/identities.ts'
import { findTenant, listTenants } from '../../storage/tables/tenants.ts'
import { type Change, inOrder } from '../../storage/work.ts'
import type { Runtime } from '../runtime.ts'
import { administer, listOf, type Recordable } from './admin.ts'
import { type Caller, demand, verifiedCaller } from './caller.ts'
import { activePrincipal } from './principals.ts'

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
  const { expiresInMs: ms } = wish
  const { key, issued } = mint(ambit, tenant, wish, ms === undefined ? null : timeIn(ambit, ms, '/expiresInMs'))
  const change = inOrder(activePrincipal(key.principal_id), keyRecords.add(key))
  return { type: 'ambit.key.issued', payload: describe(key), change, issued }
}

/** Replaces a key by a new one of the same name, principal, scopes and end. The old one ends at once, or after `graceMs`. */
export async function rotateKey(ambit: Runtime, caller: Caller, id: string, graceMs = 0): Promise<IssuedKey> {
  // Before the key is looked up: only administrators may learn which keys exist.
  demand(caller, 'administer')
  const old = await ambit.store.read(() => keyRecords.get(caller.tenant, id))
  const { principal_id: principal, name, scopes, expires_at } = old
  const made = mint(ambit, caller.tenant, { principal, name, scopes }, expires_at)
  const end: Change = keyRecords.amend(id, (current) => {
    checkReplaceable(ambit, current)
    return { ...endKey(ambit, current, graceMs), replaced_by: made.key.key_id }
  })
  return replaceBy(ambit, caller, made, id, end)
}

async function replaceBy(
  ambit: Runtime,
  caller: Caller,
  { key, issued }: ReturnType<typeof mint>,
  replaces: string,
  end: Change,
): Promise<IssuedKey> {
  const change = inOrder(activePrincipal(key.principal_id), end, keyRecords.add(key))
  await administer(ambit, caller, 'ambit.key.rotated', { ...describe(key), replaces }, change)
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
  const made = mint(ambit, caller.tenant, { principal })
  const replaced_by = made.key.key_id
  const end: Change = function* (tenant) {
    for (const { key_id } of yield* keysOf(tenant, principal))
      yield* keyRecords.amend(key_id, (old) =>
        old.revoked_at === null ? { ...endKey(ambit, old, 0), replaced_by } : old,
      )(tenant)
  }
  return replaceBy(ambit, caller, made, 'all', end)
}

/** The tenant's keys, in order of id: hashes, never secrets. */
export const keysIn = listOf(keyRecords)

function mint(ambit: Runtime, tenant: TenantId, wish: NewKey, expires_at: string | null = null) {
  const key_id = ambit.ids.next('key')
  const secret = `ambit.${tenant}.${key_id}.${randomBytes(32).toString('base64url')}`
  const made: ApiKey = {
    key_id,
    principal_id: wish.principal,
    name: wish.name ?? wish.principal,
    scopes: [...(wish.scopes ?? [])],
    secret_hash: sha256(secret),
    created_at: formatTime(ambit.clock.now()),
    expires_at,
    revoked_at: null,
    replaced_by: null,
  }
  const key = parseAs(apiKey, made, 'key')
  const issued: IssuedKey = { key_id, principal_id: key.principal_id, secret }
  return { key, issued }
}

const describe = ({ key_id, principal_id, name, scopes, expires_at }: ApiKey) => ({
  ...{ key_id, principal_id, name, scopes, expires_at },
})

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
  const isLive = key !== undefined && isCurrent(key, formatTime(ambit.clock.now()))
  if (!matches || !isLive || !(active || suspended) || principal?.status !== 'active') {
    const help = 'check that it is whole, current and of this store'
    throw new Failure('unauthenticated', 'the key is not accepted', {}, help)
  }
  const subject = { id: key.principal_id, type: 'api_key', key_id: keyId }
  return verifiedCaller(subject, tenant, principal, key.scopes)
}

const isCurrent = ({ revoked_at, expires_at }: ApiKey, now: string): boolean =>
  revoked_at === null && (expires_at === null || expires_at > now)

/** Whether any tenant of the store has a key that is accepted now. */
export const hasLiveKey = ({ store, clock }: Runtime): Promise<boolean> =>
  store.read(function* () {
    const now = formatTime(clock.now())
    for (const { tenant_id } of yield* allPages(listTenants)) {
      const tenant = tenantId(tenant_id)
      for (const key of yield* allPages((page) => keyRecords.list(tenant, page))) {
        if (!isCurrent(key, now)) continue
        if ((yield* principalRecords.find(tenant, key.principal_id))?.status === 'active') return true
      }
    }
    return false
  })

/** Queries on when there is no key: the time it takes must not reveal that. */
function* lookUp(tenant: TenantId, keyId: string) {
  const key = yield* keyRecords.find(tenant, keyId)
  const principal = yield* principalRecords.find(tenant, key?.principal_id ?? 'none')
  return { key, principal, active: (yield* findTenant(tenant))?.status === 'active' }
}

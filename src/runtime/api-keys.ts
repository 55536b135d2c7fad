import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { formatTime } from '../base/time.ts'
import { type ApiKey, apiKey, type IssuedKey } from '../model/key.ts'
import { parseAs } from '../model/parse.ts'
import { tenantId, tenantIdPattern } from '../model/tenant-id.ts'
import { keyRecords, keysOf, principalRecords } from '../storage/identities.ts'
import type { Page, PageOptions } from '../storage/page.ts'
import { getTenant } from '../storage/tenants.ts'
import { type Change, inOrder, type Work } from '../storage/work.ts'
import { administer } from './admin.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand, rightsOf } from './caller.ts'

export interface NewKey {
  readonly principal: string
  readonly name?: string
  readonly scopes?: readonly string[]
  readonly expiresInMs?: number
}

/** Makes an API key. Its text is in the answer and nowhere else: the store keeps a hash of it. */
export async function issueKey(ambit: Ambit, caller: Caller, wish: NewKey): Promise<IssuedKey> {
  const { key, issued } = mint(ambit, caller, wish)
  await administer(
    ambit,
    caller,
    'ambit.key.issued',
    described(key),
    inOrder(activePrincipal(key.principal_id), keyRecords.add(key)),
  )
  return issued
}

/** Replaces a key by a new one of the same name, principal, scopes and end. The old one opens nothing any more, or only until `graceMs` have passed. */
export async function rotateKey(ambit: Ambit, caller: Caller, id: string, graceMs = 0): Promise<IssuedKey> {
  const old = await ambit.store.read(() => keyRecords.get(caller.tenant, id))
  const { key, issued } = mint(ambit, caller, { principal: old.principal_id, name: old.name, scopes: old.scopes })
  const replaced: Change = keyRecords.amend(id, (current) => {
    checkReplaceable(ambit, current)
    return { ...ended(ambit, current, graceMs), replaced_by: key.key_id }
  })
  const kept: ApiKey = { ...key, expires_at: old.expires_at }
  await administer(
    ambit,
    caller,
    'ambit.key.rotated',
    { ...described(kept), replaces: id },
    inOrder(activePrincipal(old.principal_id), replaced, keyRecords.add(kept)),
  )
  return issued
}

/** The new key takes over the end of the old one, so an old one that is ending or has ended cannot be replaced. */
function checkReplaceable(ambit: Ambit, { key_id: id, revoked_at, replaced_by, expires_at }: ApiKey): void {
  const help = 'make a new one with `ambit key create`'
  if (replaced_by !== null)
    throw new Failure('key.not_found', `this key has been replaced by ${quote(replaced_by)}`, { id, replaced_by })
  if (revoked_at !== null) throw new Failure('key.not_found', 'this key is revoked', { id }, help)
  if (expires_at !== null && expires_at <= formatTime(ambit.clock.now()))
    throw new Failure('key.not_found', 'this key has expired', { id }, help)
}

const ended = (ambit: Ambit, key: ApiKey, graceMs: number): ApiKey => {
  const at = formatTime(ambit.clock.now() + graceMs)
  if (graceMs === 0) return { ...key, revoked_at: at }
  return { ...key, expires_at: key.expires_at !== null && key.expires_at < at ? key.expires_at : at }
}

/** Ends a key at once. */
export async function revokeKey(ambit: Ambit, caller: Caller, id: string): Promise<void> {
  const end = keyRecords.amend(id, (key) => (key.revoked_at === null ? ended(ambit, key, 0) : key))
  await administer(ambit, caller, 'ambit.key.revoked', { key_id: id }, end)
}

/** Gives a principal one new key and ends all its others. */
export async function renewKeys(ambit: Ambit, caller: Caller, principal: string): Promise<IssuedKey> {
  const { key, issued } = mint(ambit, caller, { principal })
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
export async function keysIn(ambit: Ambit, caller: Caller, options?: PageOptions): Promise<Page<ApiKey>> {
  demand(caller, 'audit')
  return ambit.store.read(() => keyRecords.list(caller.tenant, options))
}

function mint(ambit: Ambit, { tenant }: Caller, wish: NewKey): { key: ApiKey; issued: IssuedKey } {
  const key_id = ambit.ids.next('key')
  const secret = `ambit.${tenant}.${key_id}.${randomBytes(32).toString('base64url')}`
  const now = ambit.clock.now()
  const made: ApiKey = {
    key_id,
    principal_id: wish.principal,
    name: wish.name ?? wish.principal,
    scopes: [...(wish.scopes ?? [])],
    secret_hash: sha256(secret),
    created_at: formatTime(now),
    expires_at: wish.expiresInMs === undefined ? null : formatTime(now + wish.expiresInMs),
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
 * Who holds this key. Every refusal is the same `unauthenticated`, whatever the reason, and takes the same steps:
 * nobody learns which tenants, principals or keys exist.
 */
export async function authenticate(ambit: Ambit, text: string): Promise<Caller> {
  const [, tenant = '', keyId = ''] = keyText.exec(text) ?? []
  const found = tenantIdPattern.test(tenant) ? await ambit.store.read(() => lookUp(tenant, keyId)) : undefined
  const matches = timingSafeEqual(Buffer.from(sha256(text)), Buffer.from(found?.key.secret_hash ?? sha256('')))
  const now = formatTime(ambit.clock.now())
  const live =
    found !== undefined &&
    found.key.revoked_at === null &&
    (found.key.expires_at === null || found.key.expires_at > now)
  if (!matches || !live || !found.active) {
    throw new Failure(
      'unauthenticated',
      'the key is not accepted',
      {},
      'check that it is whole, current and of this store',
    )
  }
  const subject = {
    id: found.key.principal_id,
    type: 'api_key',
    verified: true,
    tenant,
    roles: [...found.roles],
    key_id: keyId,
  }
  return {
    tenant: tenantId(tenant),
    subject,
    scopes: found.key.scopes,
    rights: rightsOf(found.roles, found.key.scopes),
  }
}

function* lookUp(
  id: string,
  keyId: string,
): Work<{ key: ApiKey; active: boolean; roles: readonly string[] } | undefined> {
  const tenant = tenantId(id)
  const key = yield* keyRecords.find(tenant, keyId)
  if (key === undefined) return undefined
  const { status } = yield* getTenant(tenant)
  const principal = yield* principalRecords.get(tenant, key.principal_id)
  return { key, active: status === 'active' && principal.status === 'active', roles: principal.roles }
}

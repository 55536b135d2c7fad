import { keyIdOf } from '../../base/ed25519.ts'
import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import { type Approver, approver as approverShape } from '../../model/approval.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { parseAs } from '../../model/parse.ts'
import { allPages } from '../../storage/page.ts'
import { approverRecords, principalRecords } from '../../storage/tables/identities.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Change, Work } from '../../storage/work.ts'
import type { Runtime } from '../runtime.ts'
import { administer, listOf } from './admin.ts'
import { type Caller, demand } from './caller.ts'
import { activePrincipal } from './principals.ts'

export interface NewApprover {
  /**
   * Names the entry; the principal unless given, with a number behind it where that entry was revoked. A person who gets
   * a new key needs an entry of another name, which must not be that of another principal.
   */
  readonly id?: string
  /** The person, a principal of the tenant. */
  readonly principal: string
  readonly roles: readonly string[]
  /** Their own Ed25519 key in base64: then only what they sign counts. Without it the host signs for them. */
  readonly publicKey?: string
  readonly validUntil?: string
}

/** Lets a person decide about calls that need one of these roles. */
export async function addApprover(ambit: Runtime, caller: Caller, wish: NewApprover): Promise<Approver> {
  demand(caller, 'administer')
  const { host_id } = await ambit.store.read(() => getTenant(caller.tenant))
  const publicKey = wish.publicKey ?? (await ambit.keyring.publicKeys(host_id)).publicKey
  const made: Approver = {
    approver_id: wish.id ?? (await ambit.store.read(() => freeIdFor(caller.tenant, wish.principal))),
    principal: wish.principal,
    roles: [...new Set(wish.roles)],
    public_key: publicKey,
    key_id: checkedKeyId(publicKey),
    custody: wish.publicKey === undefined ? 'host' : 'self',
    valid_from: formatTime(ambit.clock.now()),
    valid_until: wish.validUntil ?? null,
    revoked_at: null,
  }
  const record = parseAs(approverShape, made, 'approver')
  const { approver_id, principal, roles, key_id, custody } = record
  const known: Change = function* (tenant) {
    const { kind, principal_id: id } = yield* activePrincipal(principal)(tenant)
    const message = `only people approve, and this principal is of kind \`${kind}\``
    if (kind !== 'user') throw new Failure('approver.not_permitted', message, { id })
    if (approver_id !== principal && (yield* principalRecords.find(tenant, approver_id)) !== undefined)
      throw new Failure('field.invalid', `approver: ${quote(approver_id)} is another principal`, { pointer: '/id' })
    yield* approverRecords.add(record)(tenant)
  }
  await administer(ambit, caller, 'ambit.approver.added', { approver_id, principal, roles, key_id, custody }, known)
  return record
}

/** A revoked entry, or one of another principal, keeps its id: the votes under it stay void. */
function* freeIdFor(tenant: TenantId, principal: string): Work<string> {
  for (let count = 1; ; count++) {
    const id = count === 1 ? principal : `${principal}/${count}`
    const found = yield* approverRecords.find(tenant, id)
    if (found === undefined) return id
    if (found.revoked_at !== null || found.principal !== principal) continue
    const help = `run \`ambit approver revoke ${principal}\` first: then add them with what is right`
    throw new Failure('approver.exists', `approver ${quote(principal)} exists already`, { id }, help)
  }
}

function checkedKeyId(publicKey: string): string {
  const id = keyIdOf(publicKey)
  if (id !== undefined) return id
  const message = `approver: ${quote(publicKey)} is no Ed25519 public key in base64`
  throw new Failure('field.invalid', message, { pointer: '/publicKey' })
}

/** Ends all entries of this person, or this one entry, with the votes so far. Evidence names every one that ended. */
export async function revokeApprover(ambit: Runtime, caller: Caller, id: string): Promise<void> {
  demand(caller, 'administer')
  const entries = await ambit.store.read(() => validEntries(caller.tenant, id))
  const revoked_at = formatTime(ambit.clock.now())
  const end: Change = function* (tenant) {
    const valid = yield* validEntries(tenant, id)
    if (valid.join('\n') !== entries.join('\n'))
      throw new Failure('store.busy', 'the entries of this approver changed meanwhile', { id }, 'revoke them again')
    for (const entry of entries) yield* approverRecords.amend(entry, (record) => ({ ...record, revoked_at }))(tenant)
  }
  await administer(ambit, caller, 'ambit.approver.revoked', { approver_id: id, entries }, end)
}

/** The valid entries of this person, or else of this id. None when all are revoked; an unknown id fails. */
function* validEntries(tenant: TenantId, id: string): Work<readonly string[]> {
  const all = yield* allPages((options) => approverRecords.list(tenant, options))
  const own = all.filter(({ principal }) => principal === id)
  const meant = own.length > 0 ? own : [yield* approverRecords.get(tenant, id)]
  return meant.filter(({ revoked_at }) => revoked_at === null).map(({ approver_id }) => approver_id)
}

export const approversOf = listOf(approverRecords)

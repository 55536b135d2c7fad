import { keyIdOf } from '../base/ed25519.ts'
import { Failure, quote } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import { type Approver, approver as approverShape } from '../model/approval.ts'
import { parseAs } from '../model/parse.ts'
import { approverRecords } from '../storage/approvers.ts'
import { principalRecords } from '../storage/identities.ts'
import type { Page, PageOptions } from '../storage/page.ts'
import { getTenant } from '../storage/tenants.ts'
import type { Change } from '../storage/work.ts'
import { administer } from './admin.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand } from './caller.ts'

export interface NewApprover {
  /** Names the entry; the principal unless given. A person who gets a new key needs an entry of another name. */
  readonly id?: string
  /** The person, a principal of the tenant. */
  readonly principal: string
  readonly roles: readonly string[]
  /** Their own Ed25519 key in base64: then only what they sign counts. Without it the host signs for them. */
  readonly publicKey?: string
  readonly validUntil?: string
}

/** Lets a person decide about calls that ask for one of these roles. */
export async function addApprover(ambit: Ambit, caller: Caller, wish: NewApprover): Promise<Approver> {
  demand(caller, 'administer')
  const { host_id } = await ambit.store.read(() => getTenant(caller.tenant))
  const publicKey = wish.publicKey ?? (await ambit.keyring.publicKeys(host_id)).publicKey
  const made: Approver = {
    approver_id: wish.id ?? wish.principal,
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
  const known: Change = function* (tenant) {
    const { status, kind } = yield* principalRecords.get(tenant, record.principal)
    if (status !== 'active')
      throw new Failure('principal.inactive', 'this principal has been revoked', { id: record.principal })
    if (kind !== 'user')
      throw new Failure('approver.not_permitted', `only people approve, and this principal is of kind \`${kind}\``, {
        id: record.principal,
      })
    yield* approverRecords.add(record)(tenant)
  }
  const { approver_id, roles, key_id, custody } = record
  await administer(ambit, caller, 'ambit.approver.added', { approver_id, roles, key_id, custody }, known)
  return record
}

function checkedKeyId(publicKey: string): string {
  const id = keyIdOf(publicKey)
  if (id !== undefined) return id
  throw new Failure('field.invalid', `approver: ${quote(publicKey)} is no Ed25519 public key in base64`, {
    pointer: '/publicKey',
  })
}

/** From now on this person decides about nothing; what they said before no longer counts either. */
export async function revokeApprover(ambit: Ambit, caller: Caller, id: string): Promise<void> {
  const end = approverRecords.amend(id, (record) => ({
    ...record,
    revoked_at: record.revoked_at ?? formatTime(ambit.clock.now()),
  }))
  await administer(ambit, caller, 'ambit.approver.revoked', { approver_id: id }, end)
}

export async function approversOf(ambit: Ambit, caller: Caller, options?: PageOptions): Promise<Page<Approver>> {
  demand(caller, 'audit')
  return ambit.store.read(() => approverRecords.list(caller.tenant, options))
}

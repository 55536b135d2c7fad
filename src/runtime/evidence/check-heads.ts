import { checkpointHash, verifyCheckpoint } from '../../evidence/checkpoint.ts'
import { logRoot } from '../../evidence/log.ts'
import type { FileRoot } from '../../files/root.ts'
import { everyKeyOf, type Keyring, type PublicKeys } from '../../keys/keyring.ts'
import type { Checkpoint } from '../../model/evidence.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allPages } from '../../storage/page.ts'
import type { Store } from '../../storage/store.ts'
import { checkpointAt, lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import { lastSequence } from '../../storage/tables/events.ts'
import { getTenant, listTenants } from '../../storage/tables/tenants.ts'
import { newestHead, tenantsWithHeads } from './head-file.ts'
import { type LogPlace, logStart, mismatch, replayLog } from './log.ts'

export interface CheckDeps {
  readonly store: Store
  readonly keyring: Keyring
  readonly files: FileRoot
}

/**
 * Holds the store against the newest head of every tenant, and looks for gaps since. What was cut before the head is
 * `head.mismatch`; a row rewritten before it is found by an export or an audit. Answers the newest heads.
 */
export async function checkHeads(deps: CheckDeps): Promise<Map<TenantId, Checkpoint>> {
  const { store, files } = deps
  const tenants = await store.read(() => allPages(listTenants))
  const known = new Set<TenantId>(tenants.map((tenant) => tenantId(tenant.tenant_id)))
  for (const tenant of await tenantsWithHeads(files)) {
    if (!known.has(tenant)) throw mismatch(tenant, 'the store does not have this tenant any more')
  }
  const heads = new Map<TenantId, Checkpoint>()
  for (const tenant of known) {
    const head = await checkTenant(deps, tenant)
    if (head !== undefined) heads.set(tenant, head)
  }
  return heads
}

async function checkTenant({ store, keyring, files }: CheckDeps, tenant: TenantId): Promise<Checkpoint | undefined> {
  const input = await newestHead(files, tenant)
  const { host_id, size, last } = await store.read(function* () {
    const { host_id } = yield* getTenant(tenant)
    return { host_id, size: yield* lastSequence(tenant), last: yield* lastCheckpoint(tenant) }
  })
  if (input === undefined && last !== undefined) throw mismatch(tenant, 'its file of signed heads is gone')
  const keys = await keyring.publicKeys(host_id)
  const head = input === undefined ? undefined : goodHead(tenant, input, keys)
  const from = head === undefined ? logStart : await placeOf(store, tenant, head, size)
  await replayLog(store, tenant, from, size)
  return head
}

/** A head under a key of the host; any other is `head.mismatch`. */
export function goodHead(tenant: TenantId, input: unknown, keys: PublicKeys): Checkpoint {
  const head = verifyCheckpoint(input, everyKeyOf(keys))
  if (head.ok) return head.value
  throw mismatch(tenant, `its last head is not good: ${head.message}`)
}

/** Where the log stood when the head was signed; the root is signed, so what the store says of it can be believed. */
async function placeOf(store: Store, tenant: TenantId, head: Checkpoint, sequence: number): Promise<LogPlace> {
  const { log_size: size, log_root } = head
  if (sequence < size) throw mismatch(tenant, `the store ends at event ${sequence}, a head was signed at ${size}`)
  const kept = await store.read(() => checkpointAt(tenant, size))
  if (kept === undefined || kept.hash !== checkpointHash(head) || logRoot(kept.log) !== log_root) {
    throw mismatch(tenant, `the store does not know the head signed at event ${size}`)
  }
  return { size, log: kept.log }
}

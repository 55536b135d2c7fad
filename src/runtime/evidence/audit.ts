import { verifyCheckpoints } from '../../evidence/checkpoint.ts'
import { logRoot } from '../../evidence/log.ts'
import { Auditor } from '../../evidence/verify/audit.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { Checkpoint } from '../../model/evidence.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { allPages, type PageOptions } from '../../storage/page.ts'
import { allCheckpoints } from '../../storage/tables/checkpoints.ts'
import { eventsFrom, findEvents, lastSequence } from '../../storage/tables/events.ts'
import { withPurged } from '../../storage/tables/purge.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Runtime } from '../runtime.ts'

const eventsPerRead = 1_000

/**
 * Reads every record of a tenant, recomputes every hash, and holds the log against every head that was signed. What was
 * found is the end of a sentence that begins with the tenant.
 */
export async function auditTenant(ambit: Runtime, id: string, onProgress: (events: number) => void) {
  const tenant = tenantId(id)
  const { host_id } = await ambit.store.read(() => getTenant(tenant))
  const heads = await signedHeads(ambit, tenant, host_id)
  if (typeof heads === 'string') return { ok: false, events: 0, message: heads }
  // Read first: what is written while the audit runs is for the next one.
  const size = await ambit.store.read(() => lastSequence(tenant))
  const auditor = new Auditor(host_id)
  let taken = 0
  let purged = 0
  const bad = (message: string) => ({ ok: false, events: taken, message })
  while (taken < size) {
    const wanted = Math.min(eventsPerRead, size - taken)
    const found = await ambit.store.read(() => withPurged(eventsFrom, tenant, taken, wanted))
    if (found.length === 0) return bad(`event ${taken + 1} of ${size} is missing`)
    for (const stored of found) {
      const problem = auditor.take(stored) ?? headProblem(heads.get(stored.sequence), auditor.log)
      if (problem !== undefined) return bad(`event ${stored.sequence}: ${problem}`)
      taken++
      if ('leafHash' in stored) purged++
    }
    onProgress(taken)
  }
  const beyond = heads.keys().find((signed) => signed > taken)
  if (beyond !== undefined) return bad(`the store ends at event ${taken}, a head was signed at ${beyond}`)
  if (await purgedUnseen(ambit, tenant, size, auditor.unaccounted))
    return bad('records were taken out, and no record says by whom')
  const without = purged === 0 ? '' : ` (${purged} of them purged)`
  return { ok: true, events: taken, message: `${taken} records${without} and ${heads.size} signed heads agree` }
}

/** True if leaves are there in the place of events and nothing accounts for them; a purge since the audit began does. */
async function purgedUnseen(ambit: Runtime, tenant: TenantId, size: number, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false
  const purges = (options: PageOptions) => findEvents(tenant, { type: 'evidence_purged' }, options)
  const since = await ambit.store.read(() => allPages(purges))
  const told = new Set(since.filter(({ sequence }) => sequence > size).map(({ invocationId }) => invocationId))
  return ids.some((id) => !told.has(id))
}

const headProblem = (head: Checkpoint | undefined, log: string): string | undefined =>
  head !== undefined && head.log_root !== logRoot(log) ? 'the log is not the one a head was signed over' : undefined

/** The heads in the store by size, each signed by a key of the host and tied to the one before; or what is wrong. */
async function signedHeads(ambit: Runtime, tenant: TenantId, hostId: string) {
  const keys = everyKeyOf(await ambit.keyring.publicKeys(hostId))
  const kept = await ambit.store.read(() => allCheckpoints(tenant))
  const inputs = kept.map(({ body }): unknown => JSON.parse(body))
  const verified = verifyCheckpoints(inputs, keys)
  return verified.ok ? new Map(verified.value.map((head) => [head.log_size, head])) : verified.message
}

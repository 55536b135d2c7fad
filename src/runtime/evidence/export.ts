import { Failure, quote } from '../../base/failure.ts'
import { formatTime, parseTime } from '../../base/time.ts'
import { makeBundle } from '../../evidence/bundle.ts'
import { leafOf, logRoot } from '../../evidence/log.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import type { Checkpoint, EvidenceBundle, EvidenceEvent, LogRow, SealedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Page, PageOptions } from '../../storage/page.ts'
import { lastCheckpoint } from '../../storage/tables/checkpoints.ts'
import { type EventFilter, eventsOf, findEvents, getEvent, lastSequence } from '../../storage/tables/events.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Work } from '../../storage/work.ts'
import { type Caller, demand } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { goodHead } from './heads.ts'
import { mismatch, replayLog } from './log.ts'

export type { EventFilter } from '../../storage/tables/events.ts'

/** The caller's tenant's events that pass the filter, newest first. */
export async function searchEvidence(
  ambit: Runtime,
  caller: Caller,
  filter: EventFilter,
  options?: PageOptions,
): Promise<Page<SealedEvent>> {
  demand(caller, 'audit')
  return ambit.store.read(() => findEvents(caller.tenant, filter, options))
}

/** One event, whole. */
export async function showEvent(ambit: Runtime, caller: Caller, eventId: string): Promise<EvidenceEvent> {
  demand(caller, 'audit')
  const { body } = await ambit.store.read(() => getEvent(caller.tenant, eventId))
  return JSON.parse(body) as EvidenceEvent
}

/**
 * Everything that happened in one correlation, complete, signed, and good without us. Before it is signed the whole log
 * is replayed from the rows and held against the newest signed head, so that no row that was changed,
 * removed or put in afterwards gets a signature. That takes a few microseconds for every event of the tenant.
 */
export async function exportBundle(ambit: Runtime, caller: Caller, correlation: string): Promise<EvidenceBundle> {
  demand(caller, 'audit')
  return bundleOf(ambit, caller.tenant, correlation)
}

/** As `exportBundle`, once it is known that the caller may see all of the correlation. */
export async function bundleOf(ambit: Runtime, tenantId: TenantId, correlation: string): Promise<EvidenceBundle> {
  // Taken before the snapshot: a head signed before this time has counted no further than the bundle does.
  const now = ambit.clock.now()
  const own = { expected: ambit.heads.expect(tenantId), newest: ambit.heads.newest(tenantId) }
  const { tenant, size, events, last: stored } = await ambit.store.read(() => wholeCorrelation(tenantId, correlation))
  const last = events.at(-1)
  if (last === undefined)
    throw new Failure('correlation.not_found', `nothing is recorded under ${quote(correlation)}`, { id: correlation })
  // The newest head in the store may be signed by another process.
  const kept = stored && goodHead(tenantId, JSON.parse(stored.body), await ambit.keyring.publicKeys(tenant.host_id))
  const heads = [own.newest, kept]
  own.expected.checkSize(size)
  for (const head of heads)
    if (head !== undefined && head.log_size > size)
      throw mismatch(tenantId, `the store ends at event ${size}, a head was signed at ${head.log_size}`)
  const exported = new Map(events.map((event) => [event.sequence, event]))
  await replayLog(ambit.store, tenantId, '', size, (row, log) => {
    checkRow(tenantId, row, exported.get(row.sequence), correlation)
    own.expected.check(row)
    for (const head of heads) checkHead(tenantId, row, log, head)
  })
  await ambit.heads.checkpoint(tenantId)
  const { signer, identity, keys } = await ambit.keyring.signing(tenant.host_id)
  // A clock that was set back must not date the bundle before its events or its key.
  const createdAt = formatTime(Math.max(now, parseTime(last.timestamp) ?? 0, parseTime(keys.createdAt) ?? 0))
  const parts = { hostId: tenant.host_id, events, createdAt, asOfSequence: size, identity }
  return checked(makeBundle(parts, signer), signer.publicKey)
}

/** Refuses a row of the log that is of the correlation, or says so, and is not the event that is exported. */
function checkRow(tenant: TenantId, row: LogRow, event: SealedEvent | undefined, correlation: string): void {
  const claimed = event !== undefined || ('correlationId' in row && row.correlationId === correlation)
  if (claimed && (event === undefined || leafOf(event) !== leafOf(row)))
    throw mismatch(tenant, `event ${row.sequence} is not the one in the log`)
}

function checkHead(tenant: TenantId, { sequence }: LogRow, log: string, head: Checkpoint | undefined): void {
  if (sequence !== head?.log_size || logRoot(log) === head.log_root) return
  throw mismatch(tenant, `the rows are not those that the head at event ${sequence} was signed over`)
}

/** What we sign, we have verified. */
function checked(bundle: EvidenceBundle, pin: string): EvidenceBundle {
  const { valid, first } = verifyBundle(bundle, { pins: [pin] })
  if (valid) return bundle
  const message = `the records do not verify: ${first?.message}`
  throw new Failure('bundle.invalid', message, { at: first?.at ?? '' }, 'run `ambit doctor --deep`')
}

function* wholeCorrelation(tenantId: TenantId, correlation: string) {
  const tenant = yield* getTenant(tenantId)
  const size = yield* lastSequence(tenantId)
  const events = yield* eventsInPages(tenantId, correlation, 0, Number.MAX_SAFE_INTEGER)
  return { tenant, size, events, last: yield* lastCheckpoint(tenantId) }
}

export const eventsPerRead = 1_000

/** Events of one correlation in order, after a sequence number, and no more than so many. */
export function* eventsInPages(
  tenant: TenantId,
  correlation: string,
  after: number,
  limit: number,
): Work<readonly SealedEvent[]> {
  const events: SealedEvent[] = []
  for (;;) {
    const wanted = Math.min(eventsPerRead, limit - events.length)
    const found = yield* eventsOf(tenant, correlation, events.at(-1)?.sequence ?? after, wanted)
    events.push(...found)
    if (found.length < wanted || events.length >= limit) return events
  }
}

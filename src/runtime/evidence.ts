import { Failure, quote } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import { makeBundle } from '../evidence/bundle.ts'
import type { EvidenceBundle, EvidenceEvent, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { chainHead, type EventFilter, eventsOf, findEvents, getEvent } from '../storage/events.ts'
import type { Page, PageOptions } from '../storage/page.ts'
import { getTenant } from '../storage/tenants.ts'
import type { Work } from '../storage/work.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand } from './caller.ts'

/** The caller's tenant's events that pass the filter, newest first. */
export async function searchEvidence(
  ambit: Ambit,
  caller: Caller,
  filter: EventFilter,
  options?: PageOptions,
): Promise<Page<SealedEvent>> {
  demand(caller, 'audit')
  return ambit.store.read(() => findEvents(caller.tenant, filter, options))
}

/** One event, whole. */
export async function showEvent(ambit: Ambit, caller: Caller, eventId: string): Promise<EvidenceEvent> {
  demand(caller, 'audit')
  const { body } = await ambit.store.read(() => getEvent(caller.tenant, eventId))
  return JSON.parse(body) as EvidenceEvent
}

/** Everything that happened in one correlation, complete, signed, and good without us. */
export async function exportBundle(ambit: Ambit, caller: Caller, correlation: string): Promise<EvidenceBundle> {
  demand(caller, 'audit')
  // Taken before the snapshot: a head signed before this time has counted no further than the bundle does.
  const createdAt = formatTime(ambit.clock.now())
  const { tenant, head, events } = await ambit.store.read(() => wholeCorrelation(caller.tenant, correlation))
  if (events.length === 0) {
    throw new Failure('correlation.not_found', `nothing is recorded under ${quote(correlation)}`, { id: correlation })
  }
  await ambit.heads.checkpoint(caller.tenant)
  const signer = await ambit.keyring.signer(tenant.host_id)
  const identity = await ambit.keyring.identity(tenant.host_id, tenant.created_at)
  return makeBundle({ hostId: tenant.host_id, events, createdAt, asOfSequence: head.sequence, identity }, signer)
}

const eventsPerRead = 1_000

function* wholeCorrelation(tenantId: TenantId, correlation: string): Work<Whole> {
  const tenant = yield* getTenant(tenantId)
  const head = yield* chainHead(tenantId)
  const events: SealedEvent[] = []
  for (let more = true; more; ) {
    const found = yield* eventsOf(tenantId, correlation, events.at(-1)?.sequence ?? 0, eventsPerRead)
    events.push(...found)
    more = found.length === eventsPerRead
  }
  return { tenant, head, events }
}

interface Whole {
  readonly tenant: { readonly host_id: string; readonly created_at: string }
  readonly head: { readonly sequence: number }
  readonly events: readonly SealedEvent[]
}

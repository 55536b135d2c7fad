import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import { makeAttestation } from '../evidence/dsse.ts'
import { rootHash } from '../evidence/event.ts'
import { verifyBundle } from '../evidence/verify.ts'
import { hiddenEvent } from '../evidence/withhold.ts'
import { type EvidenceBundle, type EvidenceEvent, protocolVersion, type SealedEvent } from '../model/evidence.ts'
import type { ReplayQuery, ReplayResult } from '../model/result.ts'
import type { DsseEnvelope } from '../model/statement.ts'
import type { TenantId } from '../model/tenant-id.ts'
import type { ChainReport } from '../model/wire.ts'
import { lastSequence } from '../storage/events.ts'
import type { Work } from '../storage/work.ts'
import type { Ambit } from './ambit.ts'
import { bundleOf, eventsInPages } from './evidence.ts'

/** Who reads evidence over a wire: all of a tenant's, or of one subject what it did itself. */
export interface Reader {
  readonly tenant: TenantId
  /** Null reads all. */
  readonly subject: string | null
}

/** The events of one correlation in order. Unknown, or nothing in it for this reader: an empty list. */
export async function replay(ambit: Ambit, reader: Reader, query: ReplayQuery): Promise<ReplayResult> {
  const { correlation_id, limit = limits.replayEventsMax, since_sequence = 0, include_payloads = true } = query
  const { events, partial } = await ambit.store.read(() => visible(reader, correlation_id, since_sequence, limit + 1))
  const shown = events.slice(0, limit).map(({ body }) => JSON.parse(body) as EvidenceEvent)
  return {
    correlation_id,
    events: include_payloads ? shown : shown.map(hiddenEvent),
    event_count: shown.length,
    replayed_at: formatTime(ambit.clock.now()),
    ...(events.length > limit && { truncated: true }),
    ...(partial && { partial: true }),
  }
}

/** Whether the chain of one correlation holds: all of it is checked, what the reader sees of it is counted. */
export async function checkChain(ambit: Ambit, hostId: string, reader: Reader, id: string): Promise<ChainReport> {
  const { events, chain } = await found(ambit, reader, id)
  const report = verifyBundle(unsigned(hostId, id, chain), { tier: 'hash-chain' })
  const { valid, covered, first_broken_sequence: broken } = report
  const verified = valid ? events.length : events.filter(({ sequence }) => broken !== null && sequence < broken).length
  return {
    valid,
    correlation_id: id,
    event_count: events.length,
    verified_count: verified,
    unverified_count: events.length - verified,
    first_broken_sequence: broken,
    covered,
  }
}

/** The signed export of one correlation, of which the reader must be able to see all: a chain with gaps proves nothing. */
export async function exportFor(ambit: Ambit, reader: Reader, id: string): Promise<EvidenceBundle> {
  const { partial } = await found(ambit, reader, id)
  if (!partial) return bundleOf(ambit, reader.tenant, id)
  const message = `${quote(id)} holds calls of others too, and is exported whole by those who may audit`
  throw new Failure('caller.not_permitted', message, { id }, 'ask somebody who may audit, or read your own events')
}

/** The same as an attestation, for tools that know in-toto and nothing of bundles. */
export async function attestationFor(ambit: Ambit, hostId: string, reader: Reader, id: string): Promise<DsseEnvelope> {
  return makeAttestation(await exportFor(ambit, reader, id), await ambit.keyring.signer(hostId))
}

/** How many events a tenant has. */
export const countEvents = (ambit: Ambit, tenant: TenantId): Promise<number> =>
  ambit.store.read(() => lastSequence(tenant))

async function found(ambit: Ambit, reader: Reader, id: string): Promise<Visible> {
  const visibly = await ambit.store.read(() => visible(reader, id, 0, Number.MAX_SAFE_INTEGER))
  if (visibly.events.length > 0) return visibly
  throw new Failure('correlation.not_found', `nothing is recorded under ${quote(id)}`, { id })
}

interface Visible {
  readonly events: readonly SealedEvent[]
  /** The events with those of others among them, which are for nobody's eyes here. */
  readonly chain: readonly SealedEvent[]
  /** True if the correlation holds calls of others, which are left out. */
  readonly partial: boolean
}

/**
 * What of a correlation a reader sees: the events that name it, verified, as their subject, and what people decided
 * about its own requests. A correlation is a name that anybody may use, and so is an invocation id: having called under
 * the same ones shows nothing of what others did there.
 */
function* visible({ tenant, subject }: Reader, id: string, after: number, limit: number): Work<Visible> {
  if (subject === null) {
    const events = yield* eventsInPages(tenant, id, after, limit)
    return { events, chain: events, partial: false }
  }
  const chain = yield* eventsInPages(tenant, id, 0, Number.MAX_SAFE_INTEGER)
  const asked = new Set<unknown>()
  const own = chain.filter((event) => {
    const { approval_id } = payloadOf(event)
    if (!isBy(event, subject)) return asked.has(approval_id)
    if (event.eventType === 'approval_requested') asked.add(approval_id)
    return true
  })
  const events = own.filter(({ sequence }) => sequence > after).slice(0, limit)
  return { events, chain, partial: own.length > 0 && own.length < chain.length }
}

const isBy = ({ subjectId, body }: SealedEvent, subject: string): boolean =>
  subjectId === subject && (JSON.parse(body) as EvidenceEvent).subject?.verified === true

const payloadOf = ({ body }: SealedEvent): { readonly approval_id?: unknown } =>
  (JSON.parse(body) as { readonly payload: { readonly approval_id?: unknown } }).payload

/** As much of a bundle as the checks of a chain need; unlike an export it may be made of damaged events. */
const unsigned = (hostId: string, id: string, events: readonly SealedEvent[]): unknown => ({
  host_id: hostId,
  protocol_version: protocolVersion,
  created_at: events.at(-1)?.timestamp,
  canonicalization: 'chp-stable-v1',
  assurance: 'hash-chain',
  root_hash: rootHash(events.map(({ contentHash }) => contentHash)),
  completeness: {
    scheme: 'chp-completeness-v1',
    correlation_id: id,
    as_of_sequence: events.at(-1)?.sequence,
    head_hash: events.at(-1)?.contentHash,
  },
  events: events.map(({ body }): unknown => JSON.parse(body)),
})

import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { formatTime } from '../../base/time.ts'
import { makeAttestation, unsignedBundle } from '../../evidence/bundle.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import type { RunExport } from '../../model/contract/run-export.ts'
import type { EvidenceBundle, EvidenceEvent, SealedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { ReplayQuery, ReplayResult } from '../../model/wire/result.ts'
import type { ChainReport } from '../../model/wire/wire.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { lastSequence } from '../../storage/tables/events.ts'
import { recordsOfRoot } from '../../storage/tables/runs/decisions.ts'
import type { Work } from '../../storage/work.ts'
import type { Reader } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { bundleOf, eventsInPages, eventsPerRead } from './export.ts'

/** The events of one correlation in order. Unknown, or nothing in it for this reader: an empty list. */
export async function replay(ambit: Runtime, reader: Reader, query: ReplayQuery): Promise<ReplayResult> {
  const { correlation_id, limit = limits.replayEventsMax, since_sequence = 0, include_payloads = true } = query
  const { events, partial } = await ambit.store.read(() => visible(reader, correlation_id, since_sequence, limit + 1))
  const shown = events.slice(0, limit).map(({ body }) => JSON.parse(body) as EvidenceEvent)
  return {
    correlation_id,
    events: include_payloads ? shown : shown.map((event) => ({ ...event, payload: {} })),
    event_count: shown.length,
    replayed_at: formatTime(ambit.clock.now()),
    ...(events.length > limit && { truncated: true }),
    ...(partial && { partial: true }),
  }
}

/** Whether the chain of one correlation holds: all of it is checked, what the reader sees of it is counted. */
export async function checkChain(ambit: Runtime, hostId: string, reader: Reader, id: string): Promise<ChainReport> {
  const { events, chain } = await ambit.store.read(() => wholeFor(reader, id))
  const { sequence: asOfSequence = 0, timestamp: createdAt = '' } = chain.at(-1) ?? {}
  const bundle = unsignedBundle({ hostId, events: chain, createdAt, asOfSequence })
  const { valid, covered, first_broken_sequence: broken } = verifyBundle(bundle, { tier: 'hash-chain' })
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

/** The signed export of one correlation. The reader must see all of it: a chain with gaps proves nothing. */
export async function exportFor(ambit: Runtime, reader: Reader, id: string): Promise<EvidenceBundle> {
  const { events, chain } = await ambit.store.read(() => wholeFor(reader, id))
  if (events.length === chain.length) return bundleOf(ambit, reader.tenant, id)
  const message = `${quote(id)} holds calls of others too, and is exported whole by those who may audit`
  throw new Failure('caller.not_permitted', message, { id }, 'use the key of an auditor, or read your own events')
}

/** The export of a run with what it decided: its bundle, every version of its record, and the approvals of its calls. */
export async function exportRun(ambit: Runtime, reader: Reader, runId: string): Promise<RunExport> {
  const bundle = await exportFor(ambit, reader, runId)
  const asked = bundle.events.flatMap(({ event_type, payload }) =>
    event_type === 'approval_requested' ? [String((payload as { approval_id?: unknown }).approval_id)] : [],
  )
  const { tenant } = reader
  const records = await ambit.store.read(() => recordsOfRoot(tenant, runId))
  const found = await Promise.all(
    [...new Set(asked)].map((id) => ambit.store.read(() => approvalRecords.find(tenant, id))),
  )
  return { bundles: [bundle], records: [...records], approvals: found.flatMap((stored) => stored?.request ?? []) }
}

/** The export of one correlation as an attestation, for tools that know in-toto and nothing of bundles. */
export async function attestationFor(ambit: Runtime, hostId: string, reader: Reader, id: string) {
  return makeAttestation(await exportFor(ambit, reader, id), await ambit.keyring.signer(hostId))
}

/** How many events a tenant has. */
export const countEvents = (ambit: Runtime, tenant: TenantId): Promise<number> =>
  ambit.store.read(() => lastSequence(tenant))

/** The events of a correlation that the reader sees, and its whole chain, which is only checked. */
function* wholeFor(reader: Reader, id: string) {
  const { events } = yield* visible(reader, id, 0, Number.MAX_SAFE_INTEGER)
  if (events.length === 0) throw new Failure('correlation.not_found', `nothing is recorded under ${quote(id)}`, { id })
  const chain = yield* eventsInPages(reader.tenant, id, 0, Number.MAX_SAFE_INTEGER)
  return { events, chain }
}

/**
 * The events of a correlation that a reader sees: those with the reader as their verified subject, and the decisions
 * about its own requests. Anyone may use the same correlation and invocation ids, so sharing them shows nothing of the
 * calls of others. `partial` says that those were left out. A correlation may be long, so no more is held than was asked
 * for.
 */
function* visible(
  { tenant, subject, all }: Reader,
  id: string,
  after: number,
  limit: number,
): Work<{ readonly events: readonly SealedEvent[]; readonly partial: boolean }> {
  if (all) return { events: yield* eventsInPages(tenant, id, after, limit), partial: false }
  const isOwn = ownEvents(subject)
  const events: SealedEvent[] = []
  let [owns, others, last] = [false, false, 0]
  for (;;) {
    const page = yield* eventsInPages(tenant, id, last, eventsPerRead)
    for (const event of page) {
      const own = isOwn(event)
      owns ||= own
      others ||= !own
      if (own && event.sequence > after && events.length < limit) events.push(event)
    }
    last = page.at(-1)?.sequence ?? last
    if (page.length < eventsPerRead || events.length >= limit) return { events, partial: owns && others }
  }
}

/** A test for the subject's own events, to be asked about one event after the other. */
function ownEvents(subject: string | null): (event: SealedEvent) => boolean {
  const asked = new Set<unknown>()
  return (event) => {
    if (!isBy(event, subject)) return asked.size > 0 && asked.has(payloadOf(event).approval_id)
    if (event.eventType === 'approval_requested') asked.add(payloadOf(event).approval_id)
    return true
  }
}

const isBy = ({ subjectId, body }: SealedEvent, subject: string | null): boolean =>
  subjectId === subject && (JSON.parse(body) as EvidenceEvent).subject?.verified === true

const payloadOf = ({ body }: SealedEvent): { readonly approval_id?: unknown } =>
  (JSON.parse(body) as { readonly payload: { readonly approval_id?: unknown } }).payload

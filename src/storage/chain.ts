import { formatTime } from '../base/time.ts'
import type { EventDraft, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { noTenant } from './tenants.ts'
import { number, type Row, type Statement, sql, text, type Value, type Work } from './work.ts'

/** Where a tenant's chain stands while a batch is sealed into it. */
export interface Chain {
  sequence: number
  log: string
  /** The latest time of any event so far, and the furthest that a later one fell behind it. */
  latest: string
  lagMs: number
  readonly tails: Map<string, string>
}

interface Wanted {
  readonly tenant: TenantId
  readonly drafts: readonly EventDraft[]
}

/**
 * Reads and locks the heads of every tenant that is about to write events, and the tails of their correlations: two
 * statements a tenant, whatever the number of events. Tenants are locked in order, so that batches cannot deadlock.
 */
export function* loadChains(wanted: readonly Wanted[]): Work<ReadonlyMap<TenantId, Chain>> {
  const byTenant = correlationsByTenant(wanted)
  if (byTenant.size === 0) return new Map()
  const tenants = [...byTenant.keys()].sort()
  const answers = yield tenants.flatMap((tenant) => headStatements(tenant, byTenant.get(tenant) ?? []))
  return new Map(
    tenants.map((tenant, index) => [tenant, chainFrom(tenant, answers[index * 2], answers[index * 2 + 1])]),
  )
}

function correlationsByTenant(wanted: readonly Wanted[]): Map<TenantId, string[]> {
  const found = new Map<TenantId, Set<string>>()
  for (const { tenant, drafts } of wanted) {
    if (drafts.length === 0) continue
    const known = found.get(tenant) ?? new Set()
    for (const draft of drafts) known.add(draft.correlation.correlation_id)
    found.set(tenant, known)
  }
  return new Map([...found].map(([tenant, known]) => [tenant, [...known]]))
}

const headStatements = (tenant: TenantId, correlations: readonly string[]): readonly Statement[] => [
  sql('SELECT sequence, log, latest, lag_ms FROM chain_heads WHERE tenant_id = ? FOR UPDATE', tenant),
  sql(tailsOf(width(correlations.length)), ...padded(correlations), tenant),
]

const tailTexts = new Map<number, string>()

function tailsOf(count: number): string {
  const known = tailTexts.get(count)
  if (known !== undefined) return known
  const places = Array.from({ length: count }, () => '(?)').join(', ')
  const text = `WITH wanted (id) AS (VALUES ${places}) SELECT id, (SELECT content_hash FROM events WHERE tenant_id = ? AND correlation_id = id ORDER BY sequence DESC LIMIT 1) AS tail FROM wanted`
  tailTexts.set(count, text)
  return text
}

// Lists are padded to a power of two by repeating their last item, so that few statements are ever prepared.
const width = (count: number): number => 2 ** Math.ceil(Math.log2(count))
const padded = (items: readonly string[]): readonly string[] => [
  ...items,
  ...Array.from({ length: width(items.length) - items.length }, () => items.at(-1) ?? ''),
]

function chainFrom(tenant: TenantId, head: readonly Row[] = [], tails: readonly Row[] = []): Chain {
  const [row] = head
  if (row === undefined) throw noTenant(tenant)
  return {
    sequence: number(row, 'sequence'),
    log: text(row, 'log'),
    latest: text(row, 'latest'),
    lagMs: number(row, 'lag_ms'),
    tails: new Map(tails.filter((tail) => tail['tail'] !== null).map((tail) => [text(tail, 'id'), text(tail, 'tail')])),
  }
}

/** Notes when an event was: clocks step back, and a search by time has to know how far they ever did. */
export function noteTime(chain: Chain, timestamp: string): void {
  if (timestamp >= chain.latest) chain.latest = timestamp
  else chain.lagMs = Math.max(chain.lagMs, behind(chain.latest, timestamp))
}

/** Further than any search can reach when one of the two is no time of ours. */
function behind(latest: string, timestamp: string): number {
  const [from, to] = [instantOf(timestamp), instantOf(latest)]
  return from === undefined || to === undefined ? Number.MAX_SAFE_INTEGER : to - from
}

/** The instant of a time in the one form we write, whose text order is time order; undefined for any other text. */
export function instantOf(time: string): number | undefined {
  const ms = time.length === 24 ? Date.parse(time) : Number.NaN
  return !Number.isNaN(ms) && formatTime(ms) === time ? ms : undefined
}

const update = 'UPDATE chain_heads SET sequence = ?, log = ?, latest = ?, lag_ms = ? WHERE tenant_id = ?'

/** The statements that store where each chain now stands. */
export const saveChains = (chains: ReadonlyMap<TenantId, Chain>): readonly Statement[] =>
  [...chains].map(([tenant, { sequence, log, latest, lagMs }]) => sql(update, sequence, log, latest, lagMs, tenant))

/** An event as a row of `events`, in the order of that table's columns. */
export const eventRow = (tenant: TenantId, event: SealedEvent): readonly Value[] => [
  tenant,
  event.sequence,
  event.eventId,
  event.eventType,
  event.invocationId,
  event.capabilityId,
  event.correlationId,
  event.subjectId,
  event.outcome,
  event.timestamp,
  event.contentHash,
  event.body,
]

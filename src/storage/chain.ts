import { formatTime } from '../base/time.ts'
import type { EventDraft, Leaf, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import type { KnownChains } from './known-chains.ts'
import { noTenant } from './tenants.ts'
import { number, type Row, type Statement, sql, text, type Value, type Work } from './work.ts'

/** Where a tenant's chain stands while a batch is sealed into it. */
export interface Chain {
  sequence: number
  /** The content hash of the last event; empty where that was not read. */
  hash: string
  /** The latest time of any event so far, and the furthest that a later one fell behind it. */
  latest: string
  lagMs: number
  readonly tails: Map<string, string>
  /** How it was when the batch began, and whether that was remembered rather than read. */
  readonly from: { readonly sequence: number; readonly hash: string; readonly lagMs: number }
  readonly remembered: boolean
}

export interface Wanted {
  readonly tenant: TenantId
  readonly drafts: readonly EventDraft[]
}

/**
 * The chains of every tenant that is about to write events. What is remembered is not read again: if another process
 * has written since, the next sequence number is taken, and the commit fails as a duplicate.
 */
export function* loadChains(wanted: readonly Wanted[], known: KnownChains): Work<ReadonlyMap<TenantId, Chain>> {
  const chains = new Map<TenantId, Chain>()
  for (const [tenant, correlations] of correlationsByTenant(wanted)) {
    const chain = known.recall(tenant, correlations)
    const unknown = [...correlations].filter((correlation) => !chain?.tails.has(correlation))
    chains.set(tenant, chain !== undefined && unknown.length === 0 ? chain : yield* readChain(tenant, chain, unknown))
  }
  return chains
}

function correlationsByTenant(wanted: readonly Wanted[]): ReadonlyMap<TenantId, ReadonlySet<string>> {
  const found = new Map<TenantId, Set<string>>()
  for (const { tenant, drafts } of wanted) {
    if (drafts.length === 0) continue
    const known = found.get(tenant) ?? new Set()
    for (const draft of drafts) known.add(draft.correlation.correlation_id)
    found.set(tenant, known)
  }
  return found
}

/** The chain with the tails of more correlations; read whole when nothing is remembered of it. */
function* readChain(tenant: TenantId, remembered: Chain | undefined, correlations: readonly string[]): Work<Chain> {
  const head = remembered === undefined ? [sql(selectHead, tenant)] : []
  const [tails = [], [found] = []] = yield [tailsOf(tenant, correlations), ...head]
  const chain = remembered ?? chainFrom(tenant, found)
  for (const row of tails) if (row['tail'] !== null) chain.tails.set(text(row, 'id'), text(row, 'tail'))
  return chain
}

const selectHead = `SELECT
  COALESCE((SELECT MAX(sequence) FROM events WHERE events.tenant_id = tenants.tenant_id), 0) AS sequence,
  COALESCE((SELECT MAX(timestamp) FROM events WHERE events.tenant_id = tenants.tenant_id), '') AS latest,
  COALESCE((SELECT lag_ms FROM clock_lags WHERE clock_lags.tenant_id = tenants.tenant_id), 0) AS lag_ms
  FROM tenants WHERE tenant_id = ?`

const tailTexts = new Map<number, string>()

function tailsOf(tenant: TenantId, correlations: readonly string[]): Statement {
  const count = width(correlations.length)
  const places = () => Array.from({ length: count }, () => '(?)').join(', ')
  const text =
    tailTexts.get(count) ??
    `WITH wanted (id) AS (VALUES ${places()}) SELECT id, (SELECT content_hash FROM events WHERE tenant_id = ? AND correlation_id = id ORDER BY sequence DESC LIMIT 1) AS tail FROM wanted`
  tailTexts.set(count, text)
  return sql(text, ...padded(correlations), tenant)
}

// Lists are padded to a power of two by repeating their last item, so that few statements are ever prepared.
const width = (count: number): number => 2 ** Math.ceil(Math.log2(count))
const padded = (items: readonly string[]): readonly string[] => [
  ...items,
  ...Array.from({ length: width(items.length) - items.length }, () => items.at(-1) ?? ''),
]

function chainFrom(tenant: TenantId, head: Row | undefined): Chain {
  if (head === undefined) throw noTenant(tenant)
  const from = { sequence: number(head, 'sequence'), hash: '', lagMs: number(head, 'lag_ms') }
  return { ...from, latest: text(head, 'latest'), tails: new Map(), from, remembered: false }
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

const selectLast = 'SELECT 1 AS found FROM events WHERE tenant_id = ? AND sequence = ? AND content_hash = ?'

/** Asks for the last event of every chain that is only remembered: a row each, unless the store went back behind it. */
export const lastEvents = (chains: ReadonlyMap<TenantId, Chain>): readonly Statement[] =>
  [...chains].flatMap(([tenant, { from, remembered }]) =>
    remembered ? [sql(selectLast, tenant, from.sequence, from.hash)] : [],
  )

const saveLag = `INSERT INTO clock_lags (tenant_id, lag_ms) VALUES (?, ?)
  ON CONFLICT (tenant_id) DO UPDATE SET lag_ms = excluded.lag_ms`

/** What must be stored of chains besides their events: that a clock went back further than ever before. */
export function lagsOf(chains: ReadonlyMap<TenantId, Chain>): readonly Statement[] {
  const statements: Statement[] = []
  for (const [tenant, { lagMs, from }] of chains) if (lagMs !== from.lagMs) statements.push(sql(saveLag, tenant, lagMs))
  return statements
}

export const leafOf = (found: Row): Leaf => ({
  sequence: number(found, 'sequence'),
  correlationId: text(found, 'correlation_id'),
  contentHash: text(found, 'content_hash'),
})

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

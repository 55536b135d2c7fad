import { recent } from '../base/recent.ts'
import { formatTime } from '../base/time.ts'
import type { EventDraft, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { events } from './schema.ts'
import { addSection, noSections, type Sections } from './tables/sections.ts'
import { noTenant } from './tables/tenants.ts'
import { memberName, number, type Row, type Statement, sql, text, type Value, type Work } from './work.ts'

/** Where a tenant's chain stands. A batch is sealed into it in place: if the batch fails, the chain has to be forgotten. */
export interface Chain {
  sequence: number
  /** The content hash of the last event; empty where that was not read. */
  hash: string
  /** The latest time of any event so far, and the furthest that a later one fell behind it. */
  latest: string
  lagMs: number
  /** Whether the last event was behind. */
  behind: boolean
  readonly tails: Map<string, string>
  readonly sections: Sections
  /** How it was when the batch began, and whether that was remembered rather than read. */
  from: { readonly sequence: number; readonly hash: string; readonly lagMs: number }
  remembered: boolean
  /** The version of the store at which it was last known to be right. */
  seen: number | undefined
}

const tenantsMin = 256
const tailsMax = 2048

/** Where chains stand as far as this process knows, so that it need not read what it has just written. */
export function knownChains() {
  // Alone: no other process wrote between the last two commits. Else the remembered chain is likely to be wrong.
  const entries = recent<TenantId, { readonly chain: Chain; readonly alone: boolean }>(tenantsMin)
  return {
    /** The chain for the next batch, with the tails that are known, or undefined when the store has to be asked. */
    recall: (tenant: TenantId): Chain | undefined => {
      const entry = entries.get(tenant)
      return entry?.alone ? begun(entry.chain) : undefined
    },
    /** To be told where a chain stands after a commit. */
    keep: (tenant: TenantId, chain: Chain): void => {
      // Any that is dropped is read again when it is needed.
      if (chain.tails.size > tailsMax) chain.tails.clear()
      const before = entries.get(tenant)
      if (before?.chain === chain) return
      entries.set(tenant, { chain, alone: before?.chain.sequence === chain.from.sequence })
    },
    /** To be told when a commit failed that may have changed the chain, or whose failure may mean that others have. */
    forget: (tenant: TenantId): void => entries.delete(tenant),
  }
}

function begun(chain: Chain): Chain {
  const { sequence, hash, lagMs } = chain
  chain.from = { sequence, hash, lagMs }
  chain.behind = false
  chain.remembered = true
  if (chain.sections.rows.length > 0) chain.sections.rows = []
  return chain
}

interface Wanted {
  readonly tenant: TenantId
  readonly drafts: readonly EventDraft[]
  readonly opens: string | undefined
}

/**
 * The chains of tenants that are about to write events, and the correlations whose tails have to be read first. Where another
 * process has written since, what is remembered makes the commit fail as a duplicate.
 */
export function recallChains(wanted: readonly Wanted[], known: ReturnType<typeof knownChains>) {
  const chains = new Map<TenantId, Chain>()
  const unread = new Map<TenantId, Set<string>>()
  for (const { tenant, drafts, opens } of wanted) {
    if (drafts.length === 0) continue
    const chain = chains.get(tenant) ?? known.recall(tenant)
    if (chain !== undefined) chains.set(tenant, chain)
    const ids = unread.get(tenant) ?? new Set()
    for (const { correlation } of drafts) {
      const id = correlation.correlation_id
      if (id !== opens && !chain?.tails.has(id)) ids.add(id)
    }
    if (chain === undefined || ids.size > 0) unread.set(tenant, ids)
  }
  return { chains, unread }
}

export function* readChains({ chains, unread }: ReturnType<typeof recallChains>): Work<void> {
  for (const [tenant, ids] of unread) chains.set(tenant, yield* readChain(tenant, chains.get(tenant), [...ids]))
}

/** The chain with the tails of more correlations; read whole when nothing is remembered of it. */
function* readChain(tenant: TenantId, remembered: Chain | undefined, correlations: readonly string[]): Work<Chain> {
  const head = remembered === undefined ? [sql(selectHead, tenant)] : []
  const answers = yield correlations.length === 0 ? head : [...head, tailsOf(tenant, correlations)]
  const chain = remembered ?? chainFrom(tenant, answers[0]?.[0])
  const tails = answers[head.length] ?? []
  for (const tail of tails) if (tail['tail'] !== null) chain.tails.set(text(tail, 'id'), text(tail, 'tail'))
  return chain
}

// A purge takes events away and then writes that it did: the number of the last of them must not be given out again.
const selectHead = `SELECT
  COALESCE((SELECT MAX(last) FROM (SELECT MAX(sequence) AS last FROM events WHERE events.tenant_id = tenants.tenant_id
    UNION ALL SELECT MAX(sequence) FROM purged_events WHERE purged_events.tenant_id = tenants.tenant_id) AS log), 0) AS sequence,
  COALESCE((SELECT timestamp FROM events WHERE events.tenant_id = tenants.tenant_id ORDER BY sequence DESC LIMIT 1), '') AS last,
  COALESCE((SELECT latest FROM clocks WHERE clocks.tenant_id = tenants.tenant_id), '') AS latest,
  COALESCE((SELECT lag_ms FROM clocks WHERE clocks.tenant_id = tenants.tenant_id), 0) AS lag_ms
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
  const [last, latest] = [text(head, 'last'), text(head, 'latest')]
  return {
    ...from,
    latest: last > latest ? last : latest,
    behind: false,
    tails: new Map(),
    sections: noSections(),
    from,
    remembered: false,
    seen: undefined,
  }
}

/** Notes when an event was: clocks step back, and a search by time has to know how far they ever did. */
export function noteTime(chain: Chain, timestamp: string): void {
  chain.behind = timestamp < chain.latest
  if (!chain.behind) chain.latest = timestamp
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

const selectEnd = `SELECT (SELECT MAX(sequence) FROM events WHERE tenant_id = ?) AS last,
  (SELECT content_hash FROM events WHERE tenant_id = ? AND sequence = ?) AS hash`

/** The chains that are only remembered, if others may have written since: the store may have gone back, or been purged. */
export const unsureOf = (chains: ReadonlyMap<TenantId, Chain>, version: number | undefined): readonly Unsure[] =>
  [...chains].filter(([, chain]) => chain.remembered && (version === undefined || chain.seen !== version))

export type Unsure = readonly [tenant: TenantId, chain: Chain]

/** Asks, once a chain is written, how it ends and what its new events were put behind. */
export const askEnd = ([tenant, chain]: Unsure): Statement => sql(selectEnd, tenant, tenant, chain.from.sequence)

/** Whether they were put behind the remembered event, and nothing is behind them. */
export const isEnd = ([, chain]: Unsure, [end]: readonly Row[] = []): boolean =>
  end !== undefined && end['last'] === chain.sequence && end['hash'] === chain.from.hash

const saveClock = `INSERT INTO clocks (tenant_id, latest, lag_ms) VALUES (?, ?, ?)
  ON CONFLICT (tenant_id) DO UPDATE SET latest = excluded.latest, lag_ms = excluded.lag_ms`

/** What must be stored of a chain besides its events: what searches look for, and that a clock went back. */
export function addBesides(statements: Statement[], tenant: TenantId, chain: Chain): void {
  const { sections, latest, lagMs, behind, from } = chain
  for (const row of sections.rows) statements.push(addSection(tenant, row))
  // While the last event is the latest there is nothing to keep of the clock.
  if (behind || lagMs !== from.lagMs) statements.push(sql(saveClock, tenant, latest, lagMs))
}

/** An event as a row of `events`, in the order of that table's columns. */
export const eventRow = (tenant: TenantId, event: SealedEvent): readonly Value[] => [
  tenant,
  ...eventMembers.map((member) => event[member]),
]

const eventMembers = Object.keys(events.columns).slice(1).map(memberName) as (keyof SealedEvent)[]

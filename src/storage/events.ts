import { Failure, quote } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import type { Leaf, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { instantOf, leafOf } from './chain.ts'
import { type Page, type PageOptions, page } from './page.ts'
import { noTenant } from './tenants.ts'
import { number, optionalText, type Row, row, rows, type Statement, sql, text, type Value, type Work } from './work.ts'

export interface EventFilter {
  readonly correlation?: string
  readonly subject?: string
  readonly capability?: string
  readonly outcome?: string
  readonly type?: string
  /** Times as we write them; `since` is included, `until` is not. */
  readonly since?: string
  readonly until?: string
}

const columns =
  'sequence, event_id, event_type, invocation_id, capability_id, correlation_id, subject_id, outcome, timestamp, content_hash, body'

/** Events that pass the filter, newest first. */
export function* findEvents(tenant: TenantId, filter: EventFilter, options: PageOptions = {}): Work<Page<SealedEvent>> {
  const [where, params] = conditions(filter)
  const { after, before } = yield* stretch(tenant, filter)
  const [from, first] = after > 0 ? [' AND sequence > ?', [after]] : ['', []]
  const select = `SELECT ${columns} FROM events WHERE tenant_id = ? AND sequence < ?${from}${where} ORDER BY sequence DESC LIMIT ?`
  const fetch = (last: number, limit: number) =>
    rows(select, tenant, Math.min(last, before), ...first, ...params, limit)
  return yield* page(options, before, fetch, eventOf, (found) => number(found, 'sequence'))
}

/**
 * Sequence numbers between which all events of a time lie, found by two look-ups however long the history is. No
 * event is further behind an earlier one than the chain's lag: what comes before an event that is more than the lag
 * older than `since` is too old as well, and what comes after one that is the lag past `until` is too new.
 */
function* stretch(
  tenant: TenantId,
  { since, until, correlation }: EventFilter,
): Work<{ after: number; before: number }> {
  const everything = { after: 0, before: Number.MAX_SAFE_INTEGER }
  // A correlation is short: its own index is quicker than any bound.
  if (correlation !== undefined || (since === undefined && until === undefined)) return everything
  const lag = yield* row('SELECT lag_ms FROM clock_lags WHERE tenant_id = ?', tenant)
  const lagMs = lag === undefined ? 0 : number(lag, 'lag_ms')
  const [[older] = [], [newer] = []] = yield [
    edge(tenant, '< ? ORDER BY timestamp DESC', moved(since, -lagMs) ?? ''),
    edge(tenant, '>= ? ORDER BY timestamp', moved(until, lagMs) ?? '~'),
  ]
  return {
    after: older ? number(older, 'sequence') : everything.after,
    before: newer ? number(newer, 'sequence') : everything.before,
  }
}

const edge = (tenant: TenantId, beyond: string, time: string): Statement =>
  sql(`SELECT sequence FROM events WHERE tenant_id = ? AND timestamp ${beyond} LIMIT 1`, tenant, time)

/** A time that much later; undefined when there is none, or none that four digits of year can name. */
function moved(time: string | undefined, ms: number): string | undefined {
  const date = new Date((instantOf(time ?? '') ?? Number.NaN) + ms)
  const year = date.getUTCFullYear()
  return year >= 0 && year <= 9999 ? formatTime(date.getTime()) : undefined
}

const compared: readonly [member: keyof EventFilter, condition: string][] = [
  ['correlation', 'correlation_id = ?'],
  ['subject', 'subject_id = ?'],
  ['capability', 'capability_id = ?'],
  ['outcome', 'outcome = ?'],
  ['type', 'event_type = ?'],
  ['since', 'timestamp >= ?'],
  ['until', 'timestamp < ?'],
]

function conditions(filter: EventFilter): [where: string, params: Value[]] {
  const given = compared.filter(([member]) => filter[member] !== undefined)
  return [given.map(([, condition]) => ` AND ${condition}`).join(''), given.map(([member]) => filter[member] ?? '')]
}

/** The events of one correlation in order, strictly after a sequence number, at most `limit`. */
export function* eventsOf(
  tenant: TenantId,
  correlation: string,
  after: number,
  limit: number,
): Work<readonly SealedEvent[]> {
  const select = `SELECT ${columns} FROM events WHERE tenant_id = ? AND correlation_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
  return (yield* rows(select, tenant, correlation, after, limit)).map(eventOf)
}

/** The event with this id, or `event.not_found`. */
export function* getEvent(tenant: TenantId, eventId: string): Work<SealedEvent> {
  const found = yield* row(`SELECT ${columns} FROM events WHERE tenant_id = ? AND event_id = ?`, tenant, eventId)
  if (found === undefined) throw new Failure('event.not_found', `event ${quote(eventId)} not found`, { id: eventId })
  return eventOf(found)
}

/** How many events the tenant has; the last of them has this number. */
export function* lastSequence(tenant: TenantId): Work<number> {
  const found = yield* row(selectSequence, tenant)
  if (found === undefined) throw noTenant(tenant)
  return number(found, 'sequence')
}

const selectSequence =
  'SELECT COALESCE((SELECT MAX(sequence) FROM events WHERE events.tenant_id = tenants.tenant_id), 0) AS sequence FROM tenants WHERE tenant_id = ?'

/** The last content hash of every correlation, ids in code point order; with `upTo`, as it was after that event. */
export function* chainTails(
  tenant: TenantId,
  upTo: number = Number.MAX_SAFE_INTEGER,
): Work<readonly (readonly [correlation: string, hash: string])[]> {
  const select = `SELECT correlation_id, content_hash FROM events WHERE tenant_id = ? AND sequence IN
    (SELECT MAX(sequence) FROM events WHERE tenant_id = ? AND sequence <= ? GROUP BY correlation_id) ORDER BY correlation_id`
  return (yield* rows(select, tenant, tenant, upTo)).map(
    (tail) => [text(tail, 'correlation_id'), text(tail, 'content_hash')] as const,
  )
}

/** The leaves in order, strictly after a sequence number, at most `limit`. */
export function* leavesFrom(tenant: TenantId, after: number, limit: number): Work<readonly Leaf[]> {
  const select =
    'SELECT sequence, correlation_id, content_hash FROM events WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?'
  return (yield* rows(select, tenant, after, limit)).map(leafOf)
}

/** All events in order, strictly after a sequence number, at most `limit`. */
export function* eventsFrom(tenant: TenantId, after: number, limit: number): Work<readonly SealedEvent[]> {
  const select = `SELECT ${columns} FROM events WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
  return (yield* rows(select, tenant, after, limit)).map(eventOf)
}

const eventOf = (found: Row): SealedEvent => ({
  sequence: number(found, 'sequence'),
  eventId: text(found, 'event_id'),
  eventType: text(found, 'event_type'),
  invocationId: text(found, 'invocation_id'),
  capabilityId: text(found, 'capability_id'),
  correlationId: text(found, 'correlation_id'),
  subjectId: optionalText(found, 'subject_id'),
  outcome: optionalText(found, 'outcome'),
  timestamp: text(found, 'timestamp'),
  contentHash: text(found, 'content_hash'),
  body: text(found, 'body'),
})

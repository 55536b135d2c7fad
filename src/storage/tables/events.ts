import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import type { Leaf, SealedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { instantOf } from '../chain.ts'
import { type Page, type PageOptions, page } from '../page.ts'
import { events } from '../schema.ts'
import { number, record, row, rows, type Statement, sql, text, type Value, type Work } from '../work.ts'
import { sectionEvents } from './sections.ts'
import { noTenant } from './tenants.ts'

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

const [, ...columnNames] = Object.keys(events.columns)
const columns = columnNames.join(', ')

/** Events that pass the filter, newest first. */
export function* findEvents(tenant: TenantId, filter: EventFilter, options: PageOptions = {}): Work<Page<SealedEvent>> {
  const { after, before } = yield* stretch(tenant, filter)
  const fetch = (last: number, limit: number) => {
    const { from, where, order } = search(tenant, filter, { after, before: Math.min(last, before) })
    const text = where.map(([condition]) => condition).join(' AND ')
    const params = where.flatMap(([, ...values]) => values)
    return rows(`SELECT ${columns} FROM ${from} WHERE ${text} ORDER BY ${order} LIMIT ?`, ...params, limit)
  }
  return yield* page(options, before, 'sequence', fetch, record<SealedEvent>)
}

/** Sequence numbers between which all events that are looked for lie. */
interface Stretch {
  readonly after: number
  readonly before: number
}

/**
 * Sequence numbers between which all events of a time lie, found by two look-ups however long the history is. No
 * event is further behind an earlier one than the chain's lag: what comes before an event that is more than the lag
 * older than `since` is too old as well, and what comes after one that is the lag past `until` is too new.
 */
function* stretch(tenant: TenantId, { since, until, correlation }: EventFilter): Work<Stretch> {
  const everything = { after: 0, before: Number.MAX_SAFE_INTEGER }
  // A correlation is short: its own index is quicker than any bound.
  if (correlation !== undefined || (since === undefined && until === undefined)) return everything
  const clock = yield* row('SELECT lag_ms FROM clocks WHERE tenant_id = ?', tenant)
  const lagMs = clock === undefined ? 0 : number(clock, 'lag_ms')
  const [[older] = [], [newer] = []] = yield [
    edge(tenant, '< ? ORDER BY value DESC, section DESC', moved(since, -lagMs) ?? ''),
    edge(tenant, '>= ? ORDER BY value, section', moved(until, lagMs) ?? '~'),
  ]
  return {
    after: older ? number(older, 'first') : everything.after,
    before: newer ? number(newer, 'first') : everything.before,
  }
}

/** The first event of a section that began before or after a time. */
const edge = (tenant: TenantId, beyond: string, time: string): Statement =>
  sql(`${selectFirst} AND value ${beyond} LIMIT 1`, tenant, time)

const selectFirst = "SELECT section + 1 AS first FROM event_sections WHERE tenant_id = ? AND field = 'timestamp'"

/** A time that much later; undefined when there is none, or none that four digits of year can name. */
function moved(time: string | undefined, ms: number): string | undefined {
  const date = new Date((instantOf(time ?? '') ?? Number.NaN) + ms)
  const year = date.getUTCFullYear()
  return year >= 0 && year <= 9999 ? formatTime(date.getTime()) : undefined
}

type Condition = readonly [text: string, ...params: Value[]]

function search(tenant: TenantId, filter: EventFilter, { after, before }: Stretch) {
  const where: readonly Condition[] = [
    ['events.tenant_id = ?', tenant],
    ['sequence < ?', before],
    ...(after > 0 ? [['sequence > ?', after] as const] : []),
    ...compared.flatMap(([member, condition]) => given(filter[member], condition)),
  ]
  const sections =
    filter.correlation === undefined ? searched.flatMap(([member, field]) => given(filter[member], field)) : []
  const [[field, value] = [], ...others] = sections
  if (field === undefined || value === undefined) return { from: 'events', where, order: 'sequence DESC' }
  return {
    // Section by section: both databases take the tables in this order.
    from: 'event_sections AS s CROSS JOIN events',
    where: [
      [`s.tenant_id = ? AND s.field = '${field}' AND s.value = ?`, tenant, value],
      ['s.section < ? AND s.section > ?', before, after - sectionEvents],
      ...others.map(([other, wanted]): Condition => [hasToo(other), wanted as Value]),
      [`sequence > s.section AND sequence <= s.section + ${sectionEvents}`],
      ...where,
    ],
    order: 's.section DESC, sequence DESC',
  }
}

const given = (value: string | undefined, text: string): readonly [text: string, value: string][] =>
  value === undefined ? [] : [[text, value]]

const hasToo = (field: string): string =>
  `EXISTS (SELECT 1 FROM event_sections AS o WHERE o.tenant_id = s.tenant_id AND o.field = '${field}' AND o.value = ? AND o.section = s.section)`

type MemberText = readonly [member: keyof EventFilter, text: string]

/** What sections are chosen by, the rarer first. */
const searched: readonly MemberText[] = [
  ['subject', 'subject_id'],
  ['capability', 'capability_id'],
  ['type', 'event_type'],
  ['outcome', 'outcome'],
]

const compared: readonly MemberText[] = [
  ['correlation', 'correlation_id = ?'],
  ...searched.map(([member, field]): MemberText => [member, `${field} = ?`]),
  ['since', 'timestamp >= ?'],
  ['until', 'timestamp < ?'],
]

/** The events of one correlation in order, strictly after a sequence number, at most `limit`. */
export function* eventsOf(tenant: TenantId, id: string, after: number, limit: number): Work<readonly SealedEvent[]> {
  const select = `SELECT ${columns} FROM events WHERE tenant_id = ? AND correlation_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
  return (yield* rows(select, tenant, id, after, limit)).map(record<SealedEvent>)
}

/** The bodies of the events of one type in a correlation, in order. */
export function* bodiesOf(tenant: TenantId, correlationId: string, type: string): Work<readonly string[]> {
  const select =
    'SELECT body FROM events WHERE tenant_id = ? AND correlation_id = ? AND event_type = ? ORDER BY sequence'
  return (yield* rows(select, tenant, correlationId, type)).map((found) => text(found, 'body'))
}

/** The event with this id, or `event.not_found`. */
export function* getEvent(tenant: TenantId, eventId: string): Work<SealedEvent> {
  const found = yield* row(`SELECT ${columns} FROM events WHERE tenant_id = ? AND event_id = ?`, tenant, eventId)
  if (found === undefined) throw new Failure('event.not_found', `event ${quote(eventId)} not found`, { id: eventId })
  return record(found)
}

export function* hasEvent(tenant: TenantId, eventId: string): Work<boolean> {
  const select = 'SELECT 1 AS found FROM events WHERE tenant_id = ? AND event_id = ?'
  return (yield* row(select, tenant, eventId)) !== undefined
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

/** An event without its body. */
export interface EventPlace extends Leaf {
  readonly eventType: string
  readonly invocationId: string
  readonly timestamp: string
}
export const placeColumns = 'sequence, correlation_id, content_hash, event_type, invocation_id, timestamp'

/** These columns of the events of a tenant in order, strictly after a sequence number, at most `limit`. */
const from = <T>(columns: string) =>
  function* (tenant: TenantId, after: number, limit: number): Work<readonly T[]> {
    const select = `SELECT ${columns} FROM events WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`
    return (yield* rows(select, tenant, after, limit)).map(record<T>)
  }

export const eventsFrom = from<SealedEvent>(columns)
export const leavesFrom = from<Leaf>('sequence, correlation_id, content_hash')
export const placesFrom = from<EventPlace>(placeColumns)

import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { JsonObject } from '../../base/object.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { StoredEntry } from '../../model/requests.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import { entries } from '../schema.ts'
import { type Change, counted, row, rows, type Statement, sql, text, type Work } from '../work.ts'
import { addToIndex, removeFromIndex } from './entry-index.ts'
import { entryColumns, entryOf, valuesOf } from './row.ts'

export type NewEntry = Omit<StoredEntry, 'state' | 'updated_at' | 'replaced_by'>

type EntryName = Pick<StoredEntry, 'collection' | 'entry_id'>

/** Which entry: where it does not lie in this scope, or is not active any more, a change of it is a `memory.conflict`. */
export type EntryPlace = EntryName & Pick<StoredEntry, 'scope'>

/** One step in the history of an entry: what was done, by whom, in which run. */
export interface EntryStep extends JsonObject {
  readonly action: 'stored' | 'deduplicated' | 'superseded' | 'forgotten'
  readonly at: string
}

/** Adds an entry. One with this id, or with equal content in this scope, that is there already is a `memory.conflict`. */
export const addEntry = (entry: NewEntry, step: EntryStep): Change<void> =>
  function* (tenant) {
    if (!(yield* insertEntry(tenant, entry, step))) throw conflict()
  }

/** As `addEntry`, but answers whether it was added. What has expired in the meantime makes room, a few at a time. */
export function* insertEntry(tenant: TenantId, wish: NewEntry, step: EntryStep): Work<boolean> {
  const entry: StoredEntry = { ...wish, state: 'active', updated_at: wish.created_at, replaced_by: null }
  const [[added] = []] = yield [counted(insert, tenant, ...valuesOf(entry))]
  if (added?.['count'] === 0) return false
  yield [...addToIndex(tenant, entry), addStep(tenant, entry, step)]
  if (entry.expires_at_ms !== null) yield* removeExpired(tenant, Date.parse(step.at))
  return true
}

const insert = `INSERT INTO entries (${Object.keys(entries.columns).join(', ')})
  VALUES (${Object.keys(entries.columns).fill('?').join(', ')}) ON CONFLICT DO NOTHING`

/** Puts an entry in the place of another, with its topics and body; that one is kept for audit. */
export const supersedeEntry = (old: EntryPlace, next: NewEntry, step: EntryStep): Change<void> =>
  function* (tenant) {
    const { topics, body } = yield* endEntry(tenant, old, { ...step, action: 'superseded' }, next.entry_id)
    yield* addEntry({ ...next, topics, body }, { ...step, action: 'stored' })(tenant)
  }

/** Unites topics into an active entry. */
export const amendEntry = (place: EntryPlace, topics: readonly string[], step: EntryStep): Change<void> =>
  function* (tenant) {
    const entry = yield* lockActive(tenant, place)
    const united = [...new Set([...entry.topics, ...topics])].slice(0, limits.entryTopicsMax)
    const added = united.slice(entry.topics.length)
    const set = `UPDATE entries SET topics = ?, updated_at = ? WHERE ${atName}`
    const index = added.length > 0 ? addToIndex(tenant, { ...entry, topics: united }, added) : []
    const change = sql(set, JSON.stringify(united), step.at, ...nameOf(tenant, entry))
    yield [change, ...index, addStep(tenant, entry, step)]
  }

/** Takes an active entry out of every reading, and keeps it for audit. */
export const forgetEntry = (place: EntryPlace, step: EntryStep): Change<void> =>
  function* (tenant) {
    yield* endEntry(tenant, place, step, null)
  }

function* endEntry(tenant: TenantId, place: EntryPlace, step: EntryStep, by: string | null): Work<StoredEntry> {
  const entry = yield* lockActive(tenant, place)
  const set = `UPDATE entries SET state = ?, updated_at = ?, replaced_by = ? WHERE ${atName}`
  const end = sql(set, step.action, step.at, by, ...nameOf(tenant, entry))
  yield [end, ...removeFromIndex(tenant, entry), addStep(tenant, entry, step)]
  return entry
}

function* lockActive(tenant: TenantId, place: EntryPlace): Work<StoredEntry> {
  const entry = yield* findEntry(tenant, place, ' FOR UPDATE')
  if (entry?.state !== 'active' || entry.scope !== place.scope) throw conflict()
  return entry
}

const conflict = (): Failure =>
  new Failure('memory.conflict', 'another call has changed this memory meanwhile', {}, 'read it again, then repeat')

const atName = 'tenant_id = ? AND collection = ? AND entry_id = ?'
const nameOf = (tenant: TenantId, { collection, entry_id }: EntryName) => [tenant, collection, entry_id] as const

/** The entry, in whatever state it is. */
export function* findEntry(tenant: TenantId, name: EntryName, lock = ''): Work<StoredEntry | undefined> {
  const found = yield* row(`SELECT ${entryColumns} FROM entries e WHERE ${atName}${lock}`, ...nameOf(tenant, name))
  return found && entryOf(found)
}

/** The active entry of exactly this scope whose content has this hash. */
export function* findEqualEntry(
  tenant: TenantId,
  { collection, scope, content_hash }: Pick<NewEntry, 'collection' | 'scope' | 'content_hash'>,
): Work<StoredEntry | undefined> {
  const select = `SELECT ${entryColumns} FROM entries e
    WHERE tenant_id = ? AND collection = ? AND scope = ? AND content_hash = ? AND state = 'active'`
  const found = yield* row(select, tenant, collection, scope, content_hash)
  return found && entryOf(found)
}

/** All entries of exactly one scope, newest first, with those that were superseded or forgotten. */
export function listEntries(
  tenant: TenantId,
  { collection, scope }: Pick<NewEntry, 'collection' | 'scope'>,
  options: PageOptions = {},
): Work<Page<StoredEntry>> {
  const select = `SELECT ${entryColumns} FROM entries e
    WHERE tenant_id = ? AND scope = ? AND collection = ? AND entry_id < ? ORDER BY entry_id DESC LIMIT ?`
  return pageBy('entry_id', options, [select, tenant, scope, collection], entryOf, '~')
}

const addStep = (tenant: TenantId, name: EntryName, step: EntryStep): Statement =>
  counted(insertStep, ...nameOf(tenant, name), JSON.stringify(step), ...nameOf(tenant, name))

const insertStep = `INSERT INTO entry_history (tenant_id, collection, entry_id, step, body)
  SELECT ?, ?, ?, COALESCE(MAX(step), 0) + 1, ? FROM entry_history WHERE ${atName}`

/** What was done with an entry, in order. */
export function* stepsOf(tenant: TenantId, name: EntryName): Work<readonly EntryStep[]> {
  const select = `SELECT body FROM entry_history WHERE ${atName} ORDER BY step`
  return (yield* rows(select, ...nameOf(tenant, name))).map((found) => JSON.parse(text(found, 'body')))
}

/** Buckets of text have names that are no paths. */
export const bucketCollection = 'context'

/**
 * Every entry in a scope, and below it if asked, by whole segments, of all collections whose scopes are paths, without its
 * content. A change that is to remove them holds them `locked`.
 */
export function* entriesWithin(
  tenant: TenantId,
  { scope, recursive, locked = false }: { scope: string; recursive: boolean; locked?: boolean },
): Work<readonly StoredEntry[]> {
  const select = (where: string) => `SELECT ${withoutContent} FROM entries e WHERE tenant_id = ? AND collection <> ?
    AND ${where} ORDER BY scope, collection, entry_id${locked ? ' FOR UPDATE' : ''}`
  const selects = [sql(select('scope = ?'), tenant, bucketCollection, scope)]
  // After the slash comes the zero: between the two lies every path below the scope and no other.
  const below = select('scope > ? AND scope < ?')
  if (recursive) selects.push(sql(below, tenant, bucketCollection, `${scope}/`, `${scope}0`))
  return (yield selects).flat().map(entryOf)
}

const withoutContent = entryColumns.replace('e.content,', "'' AS content,")

/** Removes entries with their history and all that is kept to find them. */
export function* removeEntries(tenant: TenantId, removed: readonly StoredEntry[]): Work<void> {
  for (const entry of removed)
    yield [
      ...(entry.state === 'active' ? removeFromIndex(tenant, entry) : []),
      sql(`DELETE FROM entry_history WHERE ${atName}`, ...nameOf(tenant, entry)),
      sql(`DELETE FROM entries WHERE ${atName}`, ...nameOf(tenant, entry)),
    ]
}

function* removeExpired(tenant: TenantId, nowMs: number): Work<void> {
  const select = `SELECT ${withoutContent} FROM entries e WHERE tenant_id = ? AND expires_at_ms <= ?
    ORDER BY expires_at_ms LIMIT 8 FOR UPDATE`
  yield* removeEntries(tenant, (yield* rows(select, tenant, nowMs)).map(entryOf))
}

import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { StoredEntry } from '../../model/requests.ts'
import { type PageOptions, page } from '../page.ts'
import { entryTopics } from '../schema.ts'
import { counted, number, type Row, rows, type Statement, sql, text, type Value, type Work } from '../work.ts'
import { entryColumns, entryOf } from './row.ts'
import { wordsOf } from './words.ts'

/** A scope alone, or with all that lies below it. */
export interface Area {
  readonly scope: string
  readonly below: boolean
}

export interface EntrySearch {
  readonly areas: readonly Area[]
  /** Any of them; none are all. */
  readonly topics?: readonly string[]
  /** All of them must occur. */
  readonly words?: readonly string[]
  readonly nowMs: number
}

/** Active entries of these areas, newest first. */
export const findEntries = (tenant: TenantId, collection: string, search: EntrySearch, options: PageOptions = {}) =>
  (search.areas.length > 0 && search.words?.length ? findByWords : findNewest)(tenant, collection, search, options)

const isLive = '(e.expires_at_ms IS NULL OR e.expires_at_ms > ?)'
const selectNewest = `SELECT ${entryColumns} FROM entry_topics t
  JOIN entries e ON e.tenant_id = t.tenant_id AND e.collection = t.collection AND e.entry_id = t.entry_id
  WHERE t.tenant_id = ? AND t.collection = ? AND t.area = ? AND t.topic = ? AND t.entry_id < ? AND ${isLive}
  ORDER BY t.entry_id DESC LIMIT ?`

/** The newest of each area and topic are the first of an index: their number counts, and nothing else that is stored. */
function findNewest(tenant: TenantId, collection: string, search: EntrySearch, options: PageOptions) {
  const { areas, topics = [], nowMs } = search
  const wanted = areas.flatMap((area) => (topics.length > 0 ? topics : ['']).map((topic) => [areaText(area), topic]))
  const fetch = function* (before: string, limit: number): Work<readonly Row[]> {
    const answers = yield wanted.map((keys) => sql(selectNewest, tenant, collection, ...keys, before, nowMs, limit))
    const found = new Map(answers.flat().map((each) => [text(each, 'entry_id'), each]))
    return [...found]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .slice(0, limit)
      .map(([, each]) => each)
  }
  return page(options, '~', 'entry_id', fetch, entryOf)
}

const ofDocument = 'e.tenant_id = d.tenant_id AND e.collection = d.collection AND e.entry_id = d.entry_id'
const inSqlite = `SELECT printf('%016d', d.number) AS place, ${entryColumns} FROM entry_words w
  JOIN entry_documents d ON d.number = w.rowid JOIN entries e ON ${ofDocument}
  WHERE entry_words MATCH ? AND d.tenant_id = ? AND d.collection = ? AND w.rowid < CAST(? AS INTEGER) AND ${isLive}
  ORDER BY w.rowid DESC LIMIT ?`
// Found by the words before anything else: a planner without figures would rather go through the tenant in order.
const inPostgres = `WITH d AS MATERIALIZED (SELECT tenant_id, collection, entry_id FROM entry_documents WHERE words @@ ?::tsquery)
  SELECT substr(d.entry_id, 5) AS place, ${entryColumns} FROM d JOIN entries e ON ${ofDocument}
  WHERE d.tenant_id = ? AND d.collection = ? AND d.entry_id < 'mem_' || ? AND ${isLive}
  ORDER BY d.entry_id DESC LIMIT ?`

function findByWords(tenant: TenantId, collection: string, search: EntrySearch, options: PageOptions) {
  const { areas, topics = [], words = [], nowMs } = search
  /** Of each list one term must occur. Terms hold letters, digits and a mark: nothing that is read as anything else. */
  const terms = [
    areas.map((area) => areaTerm(tenant, collection, areaText(area))),
    ...words.slice(0, limits.entryQueryWordsMax).map((word) => [word]),
    ...(topics.length > 0 ? [topics.map(topicTerm)] : []),
  ]
  const ask = (quote: string, and: string, or: string): string =>
    terms.map((any) => `(${any.map((term) => quote + term + quote).join(or)})`).join(and)
  const fetch = function* (before: string, limit: number): Work<readonly Row[]> {
    const rest = [tenant, collection, before, nowMs, limit]
    const postgres = { sql: inPostgres, params: [ask("'", ' & ', ' | '), ...rest] }
    const [found = []] = yield [{ sql: inSqlite, params: [ask('"', ' AND ', ' OR '), ...rest], postgres }]
    return found
  }
  return page(options, '9'.repeat(16), 'place', fetch, entryOf)
}

// The marks are in no word, so that no content can pose as the term of another scope.
const areaTerm = (tenant: TenantId, collection: string, area: string): string =>
  `§${sha256(JSON.stringify([tenant, collection, area])).slice(0, 32)}`
const topicTerm = (topic: string): string => `¶${sha256(topic).slice(0, 32)}`

const areaText = ({ scope, below }: Area): string => (below ? '<' : '=') + scope

/** The areas that a scope belongs to: itself alone, and itself and each ancestor with all below. */
function areasAround(scope: string): string[] {
  const segments = scope.split('/')
  return [`=${scope}`, ...segments.map((_, index) => `<${segments.slice(0, index + 1).join('/')}`)]
}

/** What makes an active entry findable: under all of its topics, or under those that are `added` to it. */
export function addToIndex(tenant: TenantId, entry: StoredEntry, added?: readonly string[]): Statement[] {
  const keys = topicKeys(tenant, entry, added ?? ['', ...entry.topics])
  return [
    { into: entryTopics, rows: keys.map((key) => [...key, entry.entry_id]) },
    ...keys.map((key) => counted(raiseCount, ...key)),
    ...(entry.content_hash === null ? [] : [putWords(added === undefined ? newWords : otherWords, tenant, entry)]),
  ]
}

export function removeFromIndex(tenant: TenantId, entry: StoredEntry): Statement[] {
  const { collection, entry_id } = entry
  return [
    ...topicKeys(tenant, entry, ['', ...entry.topics]).flatMap((key) => [
      sql(`DELETE FROM entry_topics WHERE ${atKey} AND entry_id = ?`, ...key, entry_id),
      sql(`DELETE FROM topic_counts WHERE ${atKey} AND count <= 1`, ...key),
      sql(`UPDATE topic_counts SET count = count - 1 WHERE ${atKey}`, ...key),
    ]),
    sql(deleteDocument, tenant, collection, entry_id),
  ]
}

const deleteDocument = 'DELETE FROM entry_documents WHERE tenant_id = ? AND collection = ? AND entry_id = ?'
const atKey = 'tenant_id = ? AND collection = ? AND area = ? AND topic = ?'
const raiseCount = `INSERT INTO topic_counts (tenant_id, collection, area, topic, count) VALUES (?, ?, ?, ?, 1)
  ON CONFLICT (tenant_id, collection, area, topic) DO UPDATE SET count = topic_counts.count + 1`

/** In one order, so that two who count at the same time do not wait for each other. */
const topicKeys = (tenant: TenantId, { collection, scope }: StoredEntry, topics: readonly string[]): Value[][] =>
  areasAround(scope).flatMap((area) => topics.toSorted().map((topic) => [tenant, collection, area, topic]))

const newWords = {
  sqlite: 'INSERT INTO new_documents (words, tenant_id, collection, entry_id) VALUES (?, ?, ?, ?)',
  postgres: `INSERT INTO entry_documents (words, tenant_id, collection, entry_id)
    VALUES (array_to_tsvector(string_to_array(?, ' ')), ?, ?, ?)`,
}
const otherWords = {
  sqlite: `UPDATE entry_words SET words = ? WHERE rowid =
    (SELECT number FROM entry_documents WHERE tenant_id = ? AND collection = ? AND entry_id = ?)`,
  postgres: `UPDATE entry_documents SET words = array_to_tsvector(string_to_array(?, ' '))
    WHERE tenant_id = ? AND collection = ? AND entry_id = ?`,
}

function putWords(by: typeof newWords, tenant: TenantId, { collection, scope, ...entry }: StoredEntry): Statement {
  const areas = areasAround(scope).map((area) => areaTerm(tenant, collection, area))
  const words = [...wordsOf(entry.content), ...areas, ...entry.topics.map(topicTerm)].join(' ')
  const params = [words, tenant, collection, entry.entry_id]
  return { sql: by.sqlite, params, postgres: { sql: by.postgres, params } }
}

export interface TopicCount {
  readonly topic: string
  readonly count: number
  /** When the newest of its entries was written or changed. */
  readonly updatedAt: string
}

const selectTopics = `SELECT topic, count, (SELECT updated_at FROM entries e
    WHERE e.tenant_id = c.tenant_id AND e.collection = c.collection AND e.entry_id = (SELECT MAX(t.entry_id)
      FROM entry_topics t
      WHERE t.tenant_id = c.tenant_id AND t.collection = c.collection AND t.area = c.area AND t.topic = c.topic)
  ) AS updated_at FROM topic_counts c
  WHERE tenant_id = ? AND collection = ? AND area = ? AND topic <> '' ORDER BY count DESC, topic LIMIT ?`

/** The topics of areas of which none contains another, the most frequent first. */
export function* topicsIn(tenant: TenantId, collection: string, areas: readonly Area[]): Work<readonly TopicCount[]> {
  const answers = yield areas.map((area) => sql(selectTopics, tenant, collection, areaText(area), limits.pageRowsMax))
  const byTopic = Map.groupBy(answers.flat(), (found) => text(found, 'topic'))
  const counts = [...byTopic].map(([topic, found]) => ({
    topic,
    count: found.reduce((sum, each) => sum + number(each, 'count'), 0),
    updatedAt: found.map((each) => text(each, 'updated_at')).reduce((a, b) => (a > b ? a : b)),
  }))
  return counts.sort((a, b) => b.count - a.count || (a.topic < b.topic ? -1 : 1))
}

/** Makes the index of a store that has none yet. */
export function* indexEntries(): Work<void> {
  for (let after: Value[] = ['', '', ''], found: readonly Row[]; ; ) {
    found = yield* rows(selectActive, ...after)
    const last = found.at(-1)
    if (last === undefined) return
    yield found.flatMap((each) => addToIndex(text(each, 'tenant_id') as TenantId, entryOf(each)))
    after = ['tenant_id', 'collection', 'entry_id'].map((column) => text(last, column))
  }
}

const selectActive = `SELECT e.tenant_id, ${entryColumns} FROM entries e
  WHERE (e.tenant_id, e.collection, e.entry_id) > (?, ?, ?) AND e.state = 'active'
  ORDER BY e.tenant_id, e.collection, e.entry_id LIMIT 100`

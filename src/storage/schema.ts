import { Failure } from '../base/failure.ts'
import type { Database } from './database.ts'
import { type ColumnType, number, row, sql, type Table, type Work } from './work.ts'

/** A table whose primary key is the tenant and these columns. */
const table = (name: string, key: string, others: string): Table => ({
  name,
  columns: { tenant_id: 'text', ...columnsIn(key), ...columnsIn(others) },
  key: ['tenant_id', ...Object.keys(columnsIn(key))],
})

/** Columns by name: text, or a number with `#` behind it, or bytes with `*`; with `?` at the end it may be null. */
function columnsIn(names: string): Table['columns'] {
  const read = ([, name = '', sign = '', mayBeNull = '']: readonly string[]) => [name, `${signs[sign]}${mayBeNull}`]
  return Object.fromEntries(Array.from(names.matchAll(/(\w+)([#*]?)(\??)/g), read))
}

const signs: Readonly<Record<string, ColumnType>> = { '': 'text', '#': 'number', '*': 'bytes' }

export const tenants = table('tenants', '', 'host_id body')
export const principals = table('principals', 'principal_id', 'body')
export const apiKeys = table('api_keys', 'key_id', 'principal_id body')
export const events = table(
  'events',
  'sequence#',
  'event_id event_type invocation_id capability_id correlation_id subject_id? outcome? timestamp content_hash body',
)
export const purgedEvents = table('purged_events', 'sequence#', 'leaf_hash purge_id')
// The latest time of any event before one that fell behind it, and the furthest that any did; no row while none did.
const clocks = table('clocks', '', 'latest lag_ms#')
// Which values of searched columns occur in which section of a chain; of `timestamp`, that of its first event.
const eventSections = table('event_sections', 'field value section#', '')
export const checkpoints = table('checkpoints', 'log_size#', 'log hash body')
const blobs = table('blobs', 'sha256', 'bytes*')
export const claims = table('claims', 'scope claim_key', 'fingerprint owner state body result? expires_at_ms#?')
const leases = table('leases', 'name', 'holder fence# expires_at_ms#')
// Who asks, and who asks for what, are compared for equality alone.
export const approvals = table('approvals', 'approval_id', 'call_key state expires_at_ms# body asker? ask?')
export const artifacts = table('artifacts', 'artifact_id', 'body')
export const packs = table('packs', 'ref', 'body')
export const approvers = table('approvers', 'approver_id', 'body')
const statements = table('statements', 'kind statement_id', 'body')
export const histories = table('histories', 'session', 'expires_at_ms# body')
const budgetPlace = 'budget holder starts_at_ms# ends_at_ms#'
export const budgetUses = table('budget_uses', budgetPlace, 'calls# time_ms# cost# bytes#')

export const runs = table(
  'runs',
  'run_id',
  'root_run_id agent_id status session_id? request_key? cancelled# by_packs# body',
)
/** Versions of how runs decided; none is ever changed. */
export const decisionRecords = table('decision_records', 'record_id seq#', 'root_run_id status body')
// Beside the event of a compile lie the facts it was made from, until they are erased.
const runEvents = table('run_events', 'root_run_id event_id#', 'run_id body facts?')
const factPaths = table('fact_paths', 'path root_run_id event_id#', '')
/** What is due: the next leg of a root run. Without an owner it waits to be taken. */
const legs = table('legs', 'run_id', 'due_at_ms# wakes# fence# owner?')
export const revocations = table('revocations', 'number#', 'body')
const sessions = table('sessions', 'agent_id session_id', 'id updated_at_ms# body')
export const sessionMessages = table('session_messages', 'agent_id session_id message_id#', 'run_id body')

// What providers keep. Entries without a hash of their content are a log: equal ones stay, and no words are looked up.
export const entries = table(
  'entries',
  'collection entry_id',
  'scope state content content_hash? topics body agent_id run_id created_at updated_at replaced_by? expires_at_ms#?',
)
const entryHistory = table('entry_history', 'collection entry_id step#', 'body')
// The active entries of an area (`=scope`, or `<scope` with all below it) by topic; with the topic '' all of them.
export const entryTopics = table('entry_topics', 'collection area topic entry_id', '')
const topicCounts = table('topic_counts', 'collection area topic', 'count#')

/** Every table there is, in the order they can be filled, but for those that follow from others. */
export const tables: readonly Table[] = [
  ...[tenants, principals, apiKeys, events, clocks, eventSections, checkpoints, blobs, claims, leases],
  ...[approvals, approvers, statements, histories, budgetUses, purgedEvents, entries, entryHistory],
  ...[runs, decisionRecords, runEvents, factPaths, legs, revocations, sessions, sessionMessages, packs, artifacts],
]

/** Made from `entries` again when a backup is restored. */
const derived: readonly Table[] = [entryTopics, topicCounts]

/**
 * The words of active entries. SQLite numbers them, since its index knows documents by number: a view takes both at once,
 * and the words go with the number.
 */
const entryWords = {
  sqlite: [
    `CREATE TABLE entry_documents (number INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, collection TEXT NOT NULL,
      entry_id TEXT NOT NULL, UNIQUE (tenant_id, collection, entry_id)) STRICT`,
    `CREATE VIRTUAL TABLE entry_words
      USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`,
    "CREATE VIEW new_documents AS SELECT tenant_id, collection, entry_id, '' AS words FROM entry_documents",
    `CREATE TRIGGER entry_documents_added INSTEAD OF INSERT ON new_documents BEGIN
      INSERT INTO entry_documents (tenant_id, collection, entry_id) VALUES (new.tenant_id, new.collection, new.entry_id);
      INSERT INTO entry_words (rowid, words) VALUES (last_insert_rowid(), new.words); END`,
    `CREATE TRIGGER entry_documents_removed AFTER DELETE ON entry_documents BEGIN
      DELETE FROM entry_words WHERE rowid = old.number; END`,
  ],
  postgres: [
    `CREATE TABLE entry_documents (tenant_id TEXT COLLATE "C" NOT NULL, collection TEXT COLLATE "C" NOT NULL,
      entry_id TEXT COLLATE "C" NOT NULL, words TSVECTOR NOT NULL, PRIMARY KEY (tenant_id, collection, entry_id))`,
    'CREATE INDEX entry_documents_words ON entry_documents USING gin (words)',
  ],
} as const

export interface Migration {
  readonly tables: readonly Table[]
  /** Run after the tables are made: indexes, and rows that existing data needs. */
  readonly after: readonly string[]
  /** Run last, each by its database alone. */
  readonly own?: Readonly<Record<Database['dialect'], readonly string[]>>
}

/** Forward only. A released entry is never edited: what must change is changed by the next one. */
export const migrations: readonly Migration[] = [
  {
    tables: [...tables, ...derived],
    after: [
      'CREATE UNIQUE INDEX tenants_host ON tenants (host_id)',
      'CREATE INDEX api_keys_principal ON api_keys (tenant_id, principal_id, key_id)',
      'CREATE UNIQUE INDEX events_id ON events (tenant_id, event_id)',
      'CREATE INDEX events_correlation ON events (tenant_id, correlation_id, sequence)',
      "CREATE INDEX claims_running ON claims (tenant_id, scope, claim_key) WHERE state = 'running'",
      "CREATE INDEX claims_expiry ON claims (tenant_id, expires_at_ms) WHERE state = 'settled'",
      "CREATE INDEX claims_unknown ON claims (tenant_id, scope, expires_at_ms) WHERE state = 'unknown'",
      'CREATE INDEX approvals_call ON approvals (tenant_id, call_key, approval_id)',
      'CREATE INDEX approvals_state ON approvals (tenant_id, state, approval_id)',
      "CREATE INDEX approvals_asker ON approvals (tenant_id, asker, expires_at_ms) WHERE state = 'pending'",
      `CREATE INDEX approvals_ask ON approvals (tenant_id, ask, expires_at_ms, state, approval_id)
        WHERE state IN ('approved', 'denied', 'pending')`,
      `CREATE INDEX approvals_overdue ON approvals (tenant_id, expires_at_ms, approval_id)
        WHERE state IN ('pending', 'approved')`,
      'CREATE INDEX histories_expiry ON histories (tenant_id, expires_at_ms)',
      'CREATE INDEX budget_uses_end ON budget_uses (tenant_id, ends_at_ms)',
      'CREATE INDEX runs_root ON runs (tenant_id, root_run_id, run_id)',
      'CREATE INDEX runs_agent ON runs (tenant_id, agent_id, run_id)',
      "CREATE INDEX runs_status ON runs (tenant_id, status, run_id) WHERE status <> 'completed'",
      'CREATE UNIQUE INDEX runs_request ON runs (tenant_id, request_key) WHERE request_key IS NOT NULL',
      'CREATE INDEX runs_cancelled ON runs (tenant_id, run_id) WHERE cancelled = 1',
      `CREATE INDEX runs_session ON runs (tenant_id, agent_id, session_id)
        WHERE session_id IS NOT NULL AND status IN ('pending', 'running', 'paused')`,
      'CREATE INDEX decision_records_root ON decision_records (tenant_id, root_run_id, record_id, seq)',
      'CREATE INDEX fact_paths_root ON fact_paths (tenant_id, root_run_id)',
      'CREATE INDEX legs_due ON legs (tenant_id, due_at_ms)',
      'CREATE INDEX sessions_id ON sessions (tenant_id, id)',
      'CREATE INDEX sessions_updated ON sessions (tenant_id, updated_at_ms)',
      'CREATE INDEX session_messages_run ON session_messages (tenant_id, run_id)',
      "CREATE UNIQUE INDEX entries_equal ON entries (tenant_id, collection, scope, content_hash) WHERE state = 'active'",
      'CREATE INDEX entries_scope ON entries (tenant_id, scope, collection, entry_id)',
      'CREATE INDEX entries_expiry ON entries (tenant_id, expires_at_ms) WHERE expires_at_ms IS NOT NULL',
    ],
    own: entryWords,
  },
]

export const schemaVersion = migrations.length

/** Brings the database up to date, one transaction per step; several processes may try at once. */
export async function migrate(database: Database, steps: readonly Migration[] = migrations): Promise<void> {
  for (let done = -1; done < steps.length; ) done = await database.write(() => nextStep(database.dialect, steps))
}

/** The version a database is at; 0 when it is empty. */
export const versionOf = async (database: Database): Promise<number> =>
  database.read(() => currentVersion(database.dialect))

function* nextStep(dialect: Database['dialect'], steps: readonly Migration[]): Work<number> {
  if (dialect === 'postgres') yield [sql('SELECT pg_advisory_xact_lock(7203175)')]
  yield [sql('CREATE TABLE IF NOT EXISTS ambit_schema (version BIGINT NOT NULL)')]
  const current = yield* currentVersion(dialect)
  if (current > steps.length) throw tooNew(current)
  const migration = steps[current]
  if (migration === undefined) return steps.length
  for (const table of migration.tables) yield [sql(createTable(table, dialect))]
  for (const statement of [...migration.after, ...(migration.own?.[dialect] ?? [])]) yield [sql(statement)]
  if (current === 0) yield [sql('INSERT INTO ambit_schema (version) VALUES (1)')]
  else yield [sql('UPDATE ambit_schema SET version = ?', current + 1)]
  return current + 1
}

function* currentVersion(dialect: Database['dialect']): Work<number> {
  const catalog =
    dialect === 'sqlite'
      ? "SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'ambit_schema'"
      : "SELECT 1 AS found FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'ambit_schema'"
  if ((yield* row(catalog)) === undefined) return 0
  const found = yield* row('SELECT version FROM ambit_schema')
  return found === undefined ? 0 : number(found, 'version')
}

// PostgreSQL would order text by the server's language; ids compare byte by byte on every database.
const types = {
  sqlite: { text: 'TEXT', number: 'INTEGER', bytes: 'BLOB' },
  postgres: { text: 'TEXT COLLATE "C"', number: 'BIGINT', bytes: 'BYTEA' },
} as const

function createTable({ name, columns, key }: Table, dialect: Database['dialect']): string {
  const lines = Object.entries(columns).map(([column, word]) => {
    const type = types[dialect][word.replace('?', '') as ColumnType]
    return `${column} ${type}${word.endsWith('?') ? '' : ' NOT NULL'}`
  })
  return `CREATE TABLE ${name} (${lines.join(', ')}, PRIMARY KEY (${key.join(', ')}))${dialect === 'sqlite' ? ' STRICT' : ''}`
}

function tooNew(version: number): Failure {
  const message = `the store is at schema ${version}, this program knows ${schemaVersion}`
  return new Failure('store.too_new', message, { version, known: schemaVersion }, 'use the newer release that wrote it')
}

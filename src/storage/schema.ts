import { Failure } from '../base/failure.ts'
import type { Database } from './database.ts'
import { type ColumnType, number, row, sql, type Table, type Work } from './work.ts'

/** A table whose primary key is the tenant and these columns. */
const table = (name: string, key: Table['columns'], others: Table['columns']): Table => ({
  name,
  columns: { tenant_id: 'text', ...key, ...others },
  key: ['tenant_id', ...Object.keys(key)],
})

export const tenants = table('tenants', {}, { host_id: 'text', body: 'text' })
export const principals = table('principals', { principal_id: 'text' }, { body: 'text' })
export const apiKeys = table('api_keys', { key_id: 'text' }, { principal_id: 'text', body: 'text' })
export const events = table(
  'events',
  { sequence: 'number' },
  {
    ...{ event_id: 'text', event_type: 'text', invocation_id: 'text', capability_id: 'text', correlation_id: 'text' },
    ...{ subject_id: 'text?', outcome: 'text?', timestamp: 'text', content_hash: 'text', body: 'text' },
  },
)
export const purgedEvents = table('purged_events', { sequence: 'number' }, { leaf_hash: 'text', purge_id: 'text' })
// The latest time of any event before one that fell behind it, and the furthest that any did; no row while none did.
const clocks = table('clocks', {}, { latest: 'text', lag_ms: 'number' })
// Which values of searched columns occur in which section of a chain; of `timestamp`, that of its first event.
const eventSections = table('event_sections', { field: 'text', value: 'text', section: 'number' }, {})
export const checkpoints = table('checkpoints', { log_size: 'number' }, { log: 'text', hash: 'text', body: 'text' })
const blobs = table('blobs', { sha256: 'text' }, { bytes: 'bytes' })
export const claims = table(
  'claims',
  { scope: 'text', claim_key: 'text' },
  { fingerprint: 'text', owner: 'text', state: 'text', body: 'text', result: 'text?', expires_at_ms: 'number?' },
)
const leases = table('leases', { name: 'text' }, { holder: 'text', fence: 'number', expires_at_ms: 'number' })
export const approvals = table(
  'approvals',
  { approval_id: 'text' },
  // Who asks, and who asks for what, are compared for equality alone.
  {
    ...{ call_key: 'text', state: 'text', expires_at_ms: 'number', body: 'text' },
    ...{ asker: 'text?', ask: 'text?' },
  },
)
export const approvers = table('approvers', { approver_id: 'text' }, { body: 'text' })
const statements = table('statements', { kind: 'text', statement_id: 'text' }, { body: 'text' })
export const histories = table('histories', { session: 'text' }, { expires_at_ms: 'number', body: 'text' })
export const budgetUses = table(
  'budget_uses',
  { budget: 'text', holder: 'text', starts_at_ms: 'number', ends_at_ms: 'number' },
  { calls: 'number', time_ms: 'number', cost: 'number', bytes: 'number' },
)

export const runs = table(
  'runs',
  { run_id: 'text' },
  {
    ...{ root_run_id: 'text', agent_id: 'text', status: 'text', session_id: 'text?', request_key: 'text?' },
    ...{ cancelled: 'number', body: 'text' },
  },
)
const runEvents = table('run_events', { root_run_id: 'text', event_id: 'number' }, { run_id: 'text', body: 'text' })
/** What is due: the next leg of a root run. Without an owner it waits to be taken. */
const legs = table(
  'legs',
  { run_id: 'text' },
  { due_at_ms: 'number', wakes: 'number', fence: 'number', owner: 'text?' },
)
export const revocations = table('revocations', { number: 'number' }, { body: 'text' })
const sessions = table(
  'sessions',
  { agent_id: 'text', session_id: 'text' },
  { id: 'text', updated_at_ms: 'number', body: 'text' },
)
export const sessionMessages = table(
  'session_messages',
  { agent_id: 'text', session_id: 'text', message_id: 'number' },
  { run_id: 'text', body: 'text' },
)

// What providers keep. Entries without a hash of their content are a log: equal ones stay, and no words are looked up.
export const entries = table(
  'entries',
  { collection: 'text', entry_id: 'text' },
  {
    ...{ scope: 'text', state: 'text', content: 'text', content_hash: 'text?', topics: 'text', body: 'text' },
    ...{ agent_id: 'text', run_id: 'text', created_at: 'text', updated_at: 'text', replaced_by: 'text?' },
    ...{ expires_at_ms: 'number?' },
  },
)
const entryHistory = table('entry_history', { collection: 'text', entry_id: 'text', step: 'number' }, { body: 'text' })
// The active entries of an area (`=scope`, or `<scope` with all below it) by topic; with the topic '' all of them.
export const entryTopics = table(
  'entry_topics',
  { collection: 'text', area: 'text', topic: 'text', entry_id: 'text' },
  {},
)
const topicCounts = table('topic_counts', { collection: 'text', area: 'text', topic: 'text' }, { count: 'number' })

/** Every table there is, in the order they can be filled, but for those that follow from others. */
export const tables: readonly Table[] = [
  ...[tenants, principals, apiKeys, events, clocks, eventSections, checkpoints, blobs, claims, leases],
  ...[approvals, approvers, statements, histories, budgetUses, purgedEvents, entries, entryHistory],
  ...[runs, runEvents, legs, revocations, sessions, sessionMessages],
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

const tooNew = (version: number): Failure =>
  new Failure(
    'store.too_new',
    `the store is at schema ${version}, this program knows ${schemaVersion}`,
    { version, known: schemaVersion },
    'use the newer release that wrote it',
  )

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
const clockLags = table('clock_lags', {}, { lag_ms: 'number' })
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
const counters = table('counters', { scope: 'text', counter_key: 'text' }, { value: 'number' })
const firstApprovals = table(
  'approvals',
  { approval_id: 'text' },
  { call_key: 'text', state: 'text', expires_at_ms: 'number', body: 'text' },
)
export const approvals: Table = {
  ...firstApprovals,
  // Who asks, and who asks for what; of requests from before that was kept, nothing.
  columns: { ...firstApprovals.columns, asker: 'text?', ask: 'text?' },
}
export const approvers = table('approvers', { approver_id: 'text' }, { body: 'text' })
const statements = table('statements', { kind: 'text', statement_id: 'text' }, { body: 'text' })
export const histories = table('histories', { session: 'text' }, { expires_at_ms: 'number', body: 'text' })
const budgetUses = table(
  'budget_uses',
  { budget: 'text', holder: 'text', starts_at_ms: 'number', ends_at_ms: 'number' },
  { calls: 'number', time_ms: 'number', cost: 'number', bytes: 'number' },
)

/** Every table there is, in the order they can be filled. */
export const tables: readonly Table[] = [
  ...[tenants, principals, apiKeys, events, clocks, eventSections, checkpoints, blobs, claims, leases],
  ...[approvals, approvers, statements, histories, budgetUses, purgedEvents],
]

interface Migration {
  readonly tables: readonly Table[]
  /** Run after the tables are made: indexes, and rows that existing data needs. */
  readonly after: readonly string[]
}

/** Forward only. A released entry is never edited: what must change is changed by the next one. */
const migrations: readonly Migration[] = [
  {
    tables: [tenants, principals, apiKeys],
    after: [
      'CREATE UNIQUE INDEX tenants_host ON tenants (host_id)',
      'CREATE INDEX api_keys_principal ON api_keys (tenant_id, principal_id, key_id)',
    ],
  },
  {
    tables: [events, clockLags, checkpoints],
    after: [
      'CREATE UNIQUE INDEX events_id ON events (tenant_id, event_id)',
      'CREATE INDEX events_correlation ON events (tenant_id, correlation_id, sequence)',
      // Types are open-ended and say nothing sure about the outcome, so each of the two has its index. `IS NOT NULL`
      // is also what makes SQLite take these before the primary key when a search has both a first and a last place.
      ...['capability_id', 'subject_id', 'event_type', 'outcome'].map(
        (column) =>
          `CREATE INDEX events_${column} ON events (tenant_id, ${column}, sequence) WHERE ${column} IS NOT NULL`,
      ),
      'CREATE INDEX events_time ON events (tenant_id, timestamp)',
    ],
  },
  {
    tables: [blobs, claims, leases, counters, firstApprovals, approvers, statements],
    after: [
      "CREATE INDEX claims_running ON claims (tenant_id, scope, claim_key) WHERE state = 'running'",
      "CREATE INDEX claims_expiry ON claims (tenant_id, expires_at_ms) WHERE state = 'settled'",
      'CREATE INDEX approvals_call ON approvals (tenant_id, call_key, approval_id)',
      'CREATE INDEX approvals_state ON approvals (tenant_id, state, approval_id)',
      "CREATE INDEX approvals_overdue ON approvals (tenant_id, expires_at_ms, approval_id) WHERE state = 'pending'",
    ],
  },
  {
    tables: [histories, budgetUses],
    after: [
      'CREATE INDEX histories_expiry ON histories (tenant_id, expires_at_ms)',
      'CREATE INDEX budget_uses_end ON budget_uses (tenant_id, ends_at_ms)',
    ],
  },
  { tables: [purgedEvents], after: [] },
  {
    tables: [clocks, eventSections],
    after: [
      `INSERT INTO clocks SELECT tenant_id, (SELECT COALESCE(MAX(timestamp), '') FROM events
        WHERE events.tenant_id = clock_lags.tenant_id), lag_ms FROM clock_lags`,
      'DROP TABLE clock_lags',
      ...['capability_id', 'subject_id', 'event_type', 'outcome'].flatMap((column) => [
        `INSERT INTO event_sections SELECT DISTINCT tenant_id, '${column}', ${column},
          sequence - 1 - (sequence - 1) % 64 FROM events WHERE ${column} IS NOT NULL`,
        `DROP INDEX events_${column}`,
      ]),
      `INSERT INTO event_sections SELECT tenant_id, 'timestamp', timestamp, sequence - 1 FROM events
        WHERE (sequence - 1) % 64 = 0`,
      'DROP INDEX events_time',
    ],
  },
  {
    tables: [],
    after: [
      // Both are compared for equality alone, which no language changes.
      'ALTER TABLE approvals ADD COLUMN asker TEXT',
      'ALTER TABLE approvals ADD COLUMN ask TEXT',
      "CREATE INDEX approvals_asker ON approvals (tenant_id, asker, expires_at_ms) WHERE state = 'pending'",
      `CREATE INDEX approvals_ask ON approvals (tenant_id, ask, expires_at_ms, state, approval_id)
        WHERE state IN ('approved', 'denied', 'pending')`,
      'DROP INDEX approvals_overdue',
      `CREATE INDEX approvals_overdue ON approvals (tenant_id, expires_at_ms, approval_id)
        WHERE state IN ('pending', 'approved')`,
    ],
  },
  {
    tables: [],
    after: ["CREATE INDEX claims_unknown ON claims (tenant_id, scope, expires_at_ms) WHERE state = 'unknown'"],
  },
  {
    tables: [],
    after: [
      // A counter is a budget that never renews: of cost for `spend`, of calls for all others.
      `INSERT INTO budget_uses SELECT tenant_id, scope, counter_key, 0, 9007199254740991,
        CASE WHEN scope = 'spend' THEN 0 ELSE value END, 0, CASE WHEN scope = 'spend' THEN value ELSE 0 END, 0
        FROM counters`,
      'DROP TABLE counters',
      // Budgets that are shared per history were shared per session.
      "UPDATE budget_uses SET holder = REPLACE(holder, '7:session', '7:history')",
    ],
  },
]

export const schemaVersion = migrations.length

/** Brings the database to `version`, one transaction per step; several processes may try at once. */
export async function migrate(database: Database, version: number = schemaVersion): Promise<void> {
  for (let done = -1; done < version; ) done = await database.write(() => nextStep(database.dialect, version))
}

/** The version a database is at; 0 when it is empty. */
export const versionOf = async (database: Database): Promise<number> =>
  database.read(() => currentVersion(database.dialect))

function* nextStep(dialect: Database['dialect'], version: number): Work<number> {
  if (dialect === 'postgres') yield [sql('SELECT pg_advisory_xact_lock(7203175)')]
  yield [sql('CREATE TABLE IF NOT EXISTS ambit_schema (version BIGINT NOT NULL)')]
  const current = yield* currentVersion(dialect)
  if (current > schemaVersion) throw tooNew(current)
  const migration = migrations[current]
  if (current >= version || migration === undefined) return version
  for (const table of migration.tables) yield [sql(createTable(table, dialect))]
  for (const statement of migration.after) yield [sql(statement)]
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

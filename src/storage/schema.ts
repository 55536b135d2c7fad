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

/** Every table there is, in the order they can be filled. */
export const tables: readonly Table[] = [
  ...[tenants, principals, apiKeys, events, clocks, eventSections, checkpoints, blobs, claims, leases],
  ...[approvals, approvers, statements, histories, budgetUses, purgedEvents],
]

export interface Migration {
  readonly tables: readonly Table[]
  /** Run after the tables are made: indexes, and rows that existing data needs. */
  readonly after: readonly string[]
}

/** Forward only. A released entry is never edited: what must change is changed by the next one. */
export const migrations: readonly Migration[] = [
  {
    tables,
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
    ],
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

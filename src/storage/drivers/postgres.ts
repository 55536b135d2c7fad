import pg from 'pg'
import { Failure } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { type Database, Duplicate, storable } from '../database.ts'
import { type ColumnType, type Row, type Statement, sql, type Value, type Work } from '../work.ts'

/** Work of one tenant runs one batch at a time; tenants run side by side, each batch on a connection of the pool. */
export function openPostgres(options: { readonly url: string; readonly connections?: number }): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 16,
    connectionTimeoutMillis: limits.storeWaitMs,
    // A process that hangs, or whose machine is gone, must not keep the others waiting. The URL may say otherwise.
    lock_timeout: limits.storeWaitMs,
    idle_in_transaction_session_timeout: limits.storeWaitMs,
    types: { getTypeParser },
    // Statements of one step travel together instead of one round trip each.
    pipeline: true,
  } as pg.PoolConfig)
  // Without listeners a lost connection, idle or in use, would end the process; the next use reports it.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  let ended: Promise<void> | undefined
  return {
    dialect: 'postgres',
    lane: (tenant) => tenant,
    read: (work) => transact(pool, [{ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' }], work),
    write: (work, queue) => transact(pool, [{ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' }, ...turnIn(queue)], work),
    close: () => {
      ended ??= pool.end()
      return ended
    },
  }
}

/** Waits for its turn in a queue that the server keeps until the end of the transaction. */
const turnIn = (queue: string | undefined): readonly pg.QueryConfig[] =>
  queue === undefined ? [] : [spell(sql(takeTurn, Number.parseInt(sha256(queue).slice(0, 8), 16) | 0))]

const takeTurn = 'SELECT pg_advisory_xact_lock(7203175, ?)'

const attemptsMax = 5

async function transact<T>(pool: pg.Pool, begin: readonly pg.QueryConfig[], work: () => Work<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(pool, begin, work)
    } catch (error) {
      if (!(error instanceof Repeat)) throw error
      if (attempt === attemptsMax) throw busy()
    }
  }
}

async function once<T>(pool: pg.Pool, begin: readonly pg.QueryConfig[], work: () => Work<T>): Promise<T> {
  const running = work()
  const first = running.next()
  if (first.done) return first.value
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error, 'none')
  })
  let broken = false
  try {
    const value = await drive(client, begin, running, first)
    await client.query('COMMIT').catch((error: unknown) => {
      throw translate(error, 'unknown')
    })
    return value
  } catch (error) {
    broken = !(await rolledBack(client))
    throw error
  } finally {
    client.release(broken)
  }
}

async function drive<T>(
  client: pg.PoolClient,
  begin: readonly pg.QueryConfig[],
  work: Work<T>,
  first: IteratorYieldResult<readonly Statement[]>,
): Promise<T> {
  let step: IteratorResult<readonly Statement[], T> = first
  let opening = begin
  while (!step.done) {
    const queries = [...opening, ...step.value.map(spell)]
    const answers = await all(queries.map((query) => client.query<Row>(query)))
    step = work.next(step.value.map((statement, index) => rowsOf(statement, answers[opening.length + index])))
    opening = []
  }
  return step.value
}

const rowsOf = (statement: Statement, answer: pg.QueryResult | undefined): readonly Row[] =>
  'sql' in statement && statement.counted ? [{ count: answer?.rowCount ?? 0 }] : ((answer?.rows ?? []) as Row[])

/** Waits for every answer even when one fails: a second failure would be an unhandled rejection. */
async function all(sent: readonly Promise<pg.QueryResult>[]): Promise<readonly pg.QueryResult[]> {
  const settled = await Promise.allSettled(sent)
  return settled.map((answer) => {
    if (answer.status === 'rejected') throw translate(answer.reason, 'none')
    return answer.value
  })
}

const rolledBack = async (client: pg.PoolClient): Promise<boolean> =>
  client.query('ROLLBACK').then(
    () => true,
    () => false,
  )

const spelled = new Map<string, { name: string; text: string }>()

function spell(statement: Statement): pg.QueryConfig {
  if ('sql' in statement) {
    const { sql, params } = statement.postgres ?? statement
    return { ...named(sql), values: params.map(bound) }
  }
  const { into, rows } = statement
  const columns = Object.keys(into.columns)
  const arrays = Object.values(into.columns).map((type) => `?::${arrayTypes[type.replace('?', '') as ColumnType]}`)
  const text = `INSERT INTO ${into.name} (${columns.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`
  return { ...named(text), values: columns.map((_, index) => rows.map((row) => bound(row[index] ?? null))) }
}

const arrayTypes = { text: 'text[]', number: 'bigint[]', bytes: 'bytea[]' } as const

/** `?` becomes `$1`, `$2` …, and the statement gets a name, so that the server plans it once a connection. */
function named(sql: string): { name: string; text: string } {
  const known = spelled.get(sql)
  if (known !== undefined) return known
  let place = 0
  const made = { name: sha256(sql).slice(0, 32), text: sql.replace(/\?/g, () => `$${++place}`) }
  spelled.set(sql, made)
  return made
}

const bound = (value: Value): unknown => (value instanceof Uint8Array ? Buffer.from(value) : storable(value))

const int8 = 20
const getTypeParser = ((oid: number, format?: 'text') =>
  oid === int8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser

/** The database undid the work because of another transaction and asks for it again. */
class Repeat extends Error {}

const serialization = ['40001', '40P01']
const uniqueViolation = '23505'
const lockTimeout = '55P03'
const unreachable = 'check that it runs and is reachable, then try again'

// The answers of a server that another server, another setting or another hour could make good.
const unusable: readonly (readonly [states: RegExp, help: string])[] = [
  [/^25006/, 'this server only reads: point the configuration at the one that writes'],
  [/^28/, 'check the user and the password'],
  [/^3D/, 'make the database first'],
  [/^42501/, 'let the database user make tables in its schema'],
  [/^53/, 'the server has no space, memory or connection left'],
  [/^(08|57)/, unreachable],
]
const sqlState = /^(?!E)[0-9A-Z]{5}$/

function translate(error: unknown, outcome: 'none' | 'unknown'): unknown {
  const { code } = error as { code?: unknown }
  const state = typeof code === 'string' ? code : 'connection lost'
  if (state === uniqueViolation) return new Duplicate()
  if (serialization.includes(state)) return new Repeat()
  if (state === lockTimeout) return busy()
  const known = unusable.find(([states]) => states.test(state))
  if (known === undefined && sqlState.test(state)) return error
  const [, help = unreachable] = known ?? []
  const message = `the database cannot be used (${state})`
  return new Failure('store.unavailable', message, { reason: state, outcome }, help)
}

const busy = (): Failure => new Failure('store.busy', 'other writers kept getting in the way', {}, 'try again')

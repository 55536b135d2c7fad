import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { type Database, Duplicate, storable } from '../database.ts'
import type { Row, Statement, Table, Work } from '../work.ts'

export interface SqliteOptions {
  /** A file, or `:memory:` for a store that ends with the process. */
  readonly path: string
  /** `full`: a commit is on the disk before it is acknowledged. `normal`: a power cut may lose the newest commits, never tear one. */
  readonly durability?: 'full' | 'normal'
}

type Prepare = (sql: string) => StatementSync

/** One connection and no waiting inside a transaction: work runs from start to end in one turn of the event loop. */
export function openSqlite(options: SqliteOptions): Database {
  const connection = open(options)
  const statements = new Map<string, StatementSync>()
  const prepare: Prepare = (sql) => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = connection.prepare(spell(sql))
    statements.set(sql, statement)
    return statement
  }
  // What is asked for from inside other work begins when that has ended, which is within this turn of the event loop.
  const inTurn = <T>(act: () => T): T | Promise<T> => (connection.isTransaction ? Promise.resolve().then(act) : act())
  return {
    dialect: 'sqlite',
    lane: () => '',
    read: (work) => inTurn(() => transact(prepare, 'BEGIN', work)),
    write: (work) => inTurn(() => transact(prepare, 'BEGIN IMMEDIATE', work)),
    // No other process can write to a store in memory.
    version: options.path === ':memory:' ? () => 0 : versionOf(connection),
    close: async () => {
      if (connection.isOpen) connection.close()
    },
  }
}

function versionOf(connection: DatabaseSync): () => number {
  const select = connection.prepare('PRAGMA data_version')
  // An object with named columns costs more to make than the answer to find.
  select.setReturnArrays(true)
  return () => Number((select.get() as unknown as readonly unknown[])[0])
}

function open({ path, durability = 'full' }: SqliteOptions): DatabaseSync {
  try {
    if (path !== ':memory:') makePrivate(path)
    const connection = new DatabaseSync(path, { timeout: limits.storeWaitMs })
    try {
      // What a transaction changes in memory is copied first, whole pages of it: small ones cost less.
      if (path === ':memory:') connection.exec('PRAGMA page_size = 2048')
      switchToWal(connection)
      connection.exec(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
      // A write that is taken back: a read-only file is found now, not at the first commit.
      connection.exec('BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK')
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  } catch (error) {
    throw translate(error, 'none')
  }
}

/** Makes the file before the database does, so that it and its companions are the owner's alone. */
function makePrivate(path: string): void {
  // An existing file is left alone: closing it here would drop the locks this process may hold on it.
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw unavailable(code, 'none', helpForFile[code])
  }
}

const pauseMs = 5
const pause = new Int32Array(new SharedArrayBuffer(4))

/** The one statement that does not wait by itself for others who open the same new file. */
function switchToWal(connection: DatabaseSync): void {
  for (let left = limits.storeWaitMs / pauseMs; ; left--) {
    try {
      connection.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (left <= 0 || kindOf(error) !== busy) throw error
      Atomics.wait(pause, 0, 0, pauseMs)
    }
  }
}

function transact<T>(prepare: Prepare, begin: string, work: () => Work<T>): T {
  const running = work()
  // What can be done beforehand is done before others have to wait.
  const first = running.next()
  if (first.done) return first.value
  let outcome: Outcome = 'none'
  try {
    prepare(begin).run()
    try {
      const value = drive(prepare, running, first)
      outcome = 'unknown'
      prepare('COMMIT').run()
      return value
    } catch (error) {
      rollBack(prepare)
      throw error
    }
  } catch (error) {
    throw translate(error, outcome)
  }
}

function drive<T>(prepare: Prepare, work: Work<T>, first: IteratorResult<readonly Statement[], T>): T {
  let step = first
  while (!step.done) step = work.next(step.value.map((statement) => execute(prepare, statement)))
  return step.value
}

function execute(prepare: Prepare, statement: Statement): readonly Row[] {
  if ('sql' in statement) {
    const prepared = prepare(statement.sql)
    const { params } = statement
    params.forEach(storable)
    return statement.counted ? [{ count: Number(prepared.run(...params).changes) }] : (prepared.all(...params) as Row[])
  }
  const insert = prepare(insertInto(statement.into))
  for (const row of statement.rows) {
    row.forEach(storable)
    insert.run(...row)
  }
  return []
}

const inserts = new WeakMap<Table, string>()

function insertInto(table: Table): string {
  const known = inserts.get(table)
  if (known !== undefined) return known
  const columns = Object.keys(table.columns)
  const text = `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  inserts.set(table, text)
  return text
}

// The whole database is locked while a transaction writes, so rows need no locks of their own. A limit that is a bare
// parameter is planned for: SQLite would compile the statement again at each use.
const spell = (sql: string): string => sql.replace(/ FOR UPDATE$/, '').replaceAll('LIMIT ?', 'LIMIT ? + 0')

function rollBack(prepare: Prepare): void {
  try {
    prepare('ROLLBACK').run()
  } catch {
    // The database ended the transaction itself, as it does when the disk is full.
  }
}

const busy = 5
// The statement's own fault, whatever state the store is in: wrong text, too large a value, a broken rule, no such place.
const ownFault = [1, 18, 19, 25]
const uniqueKey = [1555, 2067]

type Outcome = 'none' | 'unknown'

function translate(error: unknown, outcome: Outcome): unknown {
  const { errcode } = error as { errcode?: unknown }
  if (typeof errcode !== 'number') return error
  if (uniqueKey.includes(errcode)) return new Duplicate()
  const kind = kindOf(error)
  if (kind === busy) return new Failure('store.busy', 'another process is writing to the store', {}, 'try again')
  return ownFault.includes(kind) ? error : unavailable(`sqlite ${errcode}`, outcome, helpFor[kind])
}

/** The kind of a SQLite error, without the detail in its upper bits; 0 for any other error. */
const kindOf = (error: unknown): number => Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff

const unavailable = (reason: string, outcome: Outcome, help = 'run `ambit doctor`'): Failure =>
  new Failure('store.unavailable', `the store cannot be used (${reason})`, { reason, outcome }, help)

const helpFor: Readonly<Record<number, string>> = {
  8: 'the file is read-only: check its owner and mode',
  11: 'the file is damaged: restore a backup',
  13: 'the disk is full: free some space',
  14: 'the file cannot be opened: check its folder, owner and mode',
  26: 'the file is not a store: check the configured path',
}

const helpForFile: Readonly<Record<string, string>> = {
  EACCES: 'the file cannot be written: check its owner and mode, and those of its folder',
  EPERM: 'the file cannot be written: check its owner and mode, and those of its folder',
  EROFS: 'the file system is read-only: check the configured path',
  ENOENT: 'the folder does not exist: check the configured path',
  ENOSPC: 'the disk is full: free some space',
}

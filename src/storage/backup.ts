import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import { defined, isObject } from '../base/object.ts'
import { type Database, Duplicate } from './database.ts'
import { indexEntries } from './entries/entry-index.ts'
import { schemaVersion, tables } from './schema.ts'
import { type Row, row, rows, type Table, type Value, type Work } from './work.ts'

export interface BackupSummary {
  readonly rows: number
  readonly sha256: string
}

const rowsPerStep = 500

/**
 * Writes the whole store as lines of JSON from one snapshot, while others go on writing. The last line holds the
 * count of rows and a running hash over all lines before it. The form is the same for every database: what is made from
 * other tables is left out, and made again when the backup is loaded.
 */
export function* dump(createdAt: string, write: (line: string) => void): Work<BackupSummary> {
  let digest = ''
  let count = 0
  const put = (value: unknown): void => {
    const line = JSON.stringify(value)
    digest = sha256(digest + line)
    write(line)
  }
  put({ ambit_backup: 1, schema: schemaVersion, created_at: createdAt })
  for (const table of tables) {
    for (let last: Row | undefined, more = true; more; ) {
      const found = yield* nextRows(table, last)
      for (const each of found)
        put({ t: table.name, r: Object.keys(table.columns).map((column) => encode(each[column] ?? null)) })
      count += found.length
      last = found.at(-1)
      more = found.length === rowsPerStep
    }
  }
  write(JSON.stringify({ end: true, rows: count, sha256: digest }))
  return { rows: count, sha256: digest }
}

function nextRows({ name, columns, key }: Table, last: Row | undefined): Work<readonly Row[]> {
  const order = key.join(', ')
  const after = last === undefined ? '' : `WHERE (${order}) > (${key.map(() => '?').join(', ')})`
  const params = last === undefined ? [] : key.map((column) => last[column] ?? null)
  const select = `SELECT ${Object.keys(columns).join(', ')} FROM ${name} ${after} ORDER BY ${order} LIMIT ${rowsPerStep}`
  return rows(select, ...params)
}

/** Reads a backup from end to end and checks it, touching no store. Anything wrong is `backup.invalid`. */
export function inspect(lines: Iterable<string>): BackupSummary {
  const reading = parse(lines)
  let step = reading.next()
  while (!step.done) step = reading.next()
  return step.value
}

/** Fills an empty store from a backup, all or nothing. A store that holds anything is `store.not_empty`. */
export async function load(database: Database, lines: () => Iterable<string>): Promise<BackupSummary> {
  try {
    return await database.write(() => loadAll(lines()))
  } catch (error) {
    throw error instanceof Duplicate ? invalidBackup('two of its rows have the same key') : error
  }
}

function* loadAll(lines: Iterable<string>): Work<BackupSummary> {
  for (const table of tables) {
    if ((yield* row(`SELECT 1 AS found FROM ${table.name} LIMIT 1`)) !== undefined) throw notEmpty()
  }
  const reading = parse(lines)
  let waiting: { into: Table; rows: Value[][] } | undefined
  for (;;) {
    const step = reading.next()
    if (
      waiting !== undefined &&
      (step.done || waiting.into !== step.value.into || waiting.rows.length === rowsPerStep)
    ) {
      yield [waiting]
      waiting = undefined
    }
    if (step.done) {
      yield* indexEntries()
      return step.value
    }
    waiting ??= { into: step.value.into, rows: [] }
    waiting.rows.push(step.value.row)
  }
}

interface TableRow {
  readonly into: Table
  readonly row: Value[]
}

/** The rows, and at the end what the last line says of them. */
function* parse(lines: Iterable<string>): Generator<TableRow, BackupSummary> {
  let digest = ''
  let line = 0
  let end: BackupSummary | undefined
  for (const text of lines) {
    line++
    if (end !== undefined) throw invalidBackup('it goes on after its end', line)
    const value = readLine(text, line)
    if (line === 1) checkHeader(value)
    else if ('end' in value) {
      end = { rows: line - 2, sha256: digest }
      checkEnd(value, end, line)
    } else yield readRow(value, line)
    digest = sha256(digest + text)
  }
  if (end === undefined) throw invalidBackup('it has no end')
  return end
}

type Members = Readonly<Record<string, unknown>>

/** A row inside a line has at most three levels: the line, its cells, and bytes. */
const bounds = { bytesMax: limits.backupLineBytesMax, depthMax: 3 }

function readLine(text: string, line: number): Members {
  try {
    const value = readJson(text, bounds)
    if (isObject(value)) return value
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
  throw invalidBackup('it is not a JSON object', line)
}

function checkHeader(value: Members): void {
  const { ambit_backup, schema, created_at, ...more } = value
  if (ambit_backup !== 1 || typeof created_at !== 'string' || Object.keys(more).length > 0)
    throw invalidBackup('it does not begin as one', 1)
  if (schema !== schemaVersion)
    throw invalidBackup(`it is of schema ${Number(schema)}, this program reads ${schemaVersion}`, 1)
}

function checkEnd({ end, rows, sha256, ...more }: Members, found: BackupSummary, line: number): void {
  if (end !== true || rows !== found.rows || sha256 !== found.sha256 || Object.keys(more).length > 0)
    throw invalidBackup('what came before does not have the count and the hash it names', line)
}

function readRow({ t, r: cells, ...more }: Members, line: number): TableRow {
  const into = tables.find((table) => table.name === t)
  const types = Object.values(into?.columns ?? {})
  if (into === undefined || !Array.isArray(cells) || cells.length !== types.length || Object.keys(more).length > 0)
    throw invalidBackup('it is no row of a known table', line)
  const row = types.map((type, index) => decode(type, cells[index]))
  if (!row.every((cell) => cell !== undefined)) throw invalidBackup('a cell does not have the type of its column', line)
  return { into, row }
}

const encode = (value: Value): unknown =>
  value instanceof Uint8Array ? { b: Buffer.from(value).toString('base64') } : value

/** The value of a cell, or undefined when its column cannot hold it. */
function decode(type: Table['columns'][string], cell: unknown): Value | undefined {
  if (cell === null) return type.endsWith('?') ? null : undefined
  if (type.startsWith('bytes')) return bytesOf(cell)
  if (type.startsWith('number')) return Number.isSafeInteger(cell) ? (cell as number) : undefined
  return typeof cell === 'string' && !cell.includes('\0') ? cell : undefined
}

function bytesOf(cell: unknown): Uint8Array | undefined {
  if (!isObject(cell) || typeof cell['b'] !== 'string' || Object.keys(cell).length !== 1) return undefined
  const bytes = Buffer.from(cell['b'], 'base64')
  return bytes.toString('base64') === cell['b'] ? bytes : undefined
}

/** The one refusal of a backup, with the line it is about where there is one. */
export function invalidBackup(why: string, line?: number): Failure {
  const where = line === undefined ? '' : `line ${line}: `
  return new Failure('backup.invalid', `this is not a whole backup: ${where}${why}`, defined({ line }), takeAnother)
}

const takeAnother = 'take another backup'

function notEmpty(): Failure {
  const help = 'restore into a new store, then point the configuration at it'
  return new Failure('store.not_empty', 'the store holds something already', {}, help)
}

import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import type { Database } from './database.ts'
import { schemaVersion, tables } from './schema.ts'
import { type Row, row, rows, type Table, type Value, type Work } from './work.ts'

export interface BackupSummary {
  readonly rows: number
  readonly sha256: string
}

const rowsPerStep = 500

/**
 * Writes the whole store as lines of JSON from one snapshot, while others go on writing. The last line holds the
 * count of rows and a running hash over all lines before it. The form is the same for every database.
 */
export function dump(database: Database, createdAt: string, write: (line: string) => void): Promise<BackupSummary> {
  return database.read(() => dumpAll(createdAt, write))
}

function* dumpAll(createdAt: string, write: (line: string) => void): Work<BackupSummary> {
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

function nextRows(table: Table, last: Row | undefined): Work<readonly Row[]> {
  const key = table.key.join(', ')
  const columns = Object.keys(table.columns).join(', ')
  if (last === undefined) return rows(`SELECT ${columns} FROM ${table.name} ORDER BY ${key} LIMIT ${rowsPerStep}`)
  const places = table.key.map(() => '?').join(', ')
  const after = table.key.map((column) => last[column] ?? null)
  return rows(
    `SELECT ${columns} FROM ${table.name} WHERE (${key}) > (${places}) ORDER BY ${key} LIMIT ${rowsPerStep}`,
    ...after,
  )
}

/** Reads a backup from end to end and checks it, touching no store. Anything wrong is `backup.invalid`. */
export function inspect(lines: Iterable<string>): BackupSummary {
  let summary: BackupSummary | undefined
  for (const step of parse(lines)) if ('end' in step) summary = step.end
  if (summary === undefined) throw invalid('it has no end')
  return summary
}

/** Fills an empty store from a backup, all or nothing. A store that holds anything is `store.not_empty`. */
export function load(database: Database, lines: () => Iterable<string>): Promise<BackupSummary> {
  return database.write(() => loadAll(lines()))
}

function* loadAll(lines: Iterable<string>): Work<BackupSummary> {
  for (const table of tables) {
    if ((yield* row(`SELECT 1 AS found FROM ${table.name} LIMIT 1`)) !== undefined) throw notEmpty()
  }
  let waiting: { into: Table; rows: Value[][] } | undefined
  for (const step of parse(lines)) {
    if ('end' in step) {
      if (waiting !== undefined) yield [waiting]
      return step.end
    }
    if (waiting !== undefined && (waiting.into !== step.into || waiting.rows.length === rowsPerStep)) {
      yield [waiting]
      waiting = undefined
    }
    waiting ??= { into: step.into, rows: [] }
    waiting.rows.push(step.row)
  }
  throw invalid('it has no end')
}

type Step = { readonly into: Table; readonly row: Value[] } | { readonly end: BackupSummary }

function* parse(lines: Iterable<string>): Generator<Step> {
  let digest = ''
  let count = 0
  let ended = false
  for (const line of lines) {
    if (ended) throw invalid('it goes on after its end')
    const value = parseLine(line)
    if (digest === '') checkHeader(value)
    if (value['end'] === true) {
      if (value['sha256'] !== digest || value['rows'] !== count)
        throw invalid('its lines do not have the hash it ends with')
      ended = true
      yield { end: { rows: count, sha256: digest } }
      continue
    }
    if (digest !== '') yield readRow(value, ++count)
    digest = sha256(digest + line)
  }
}

function readRow(value: Readonly<Record<string, unknown>>, line: number): Step {
  const into = tables.find((table) => table.name === value['t'])
  const cells = value['r']
  if (into === undefined || !Array.isArray(cells) || cells.length !== Object.keys(into.columns).length) {
    throw invalid(`row ${line} is of no known table`)
  }
  return { into, row: cells.map(decode) }
}

function parseLine(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Falls through to the one refusal below.
  }
  throw invalid('a line of it is not a JSON object')
}

function checkHeader(value: Readonly<Record<string, unknown>>): void {
  if (value['ambit_backup'] !== 1) throw invalid('it does not begin as one')
  if (value['schema'] !== schemaVersion)
    throw invalid(`it is of schema ${value['schema']}, this program reads ${schemaVersion}`)
}

const encode = (value: Value): unknown =>
  value instanceof Uint8Array ? { b: Buffer.from(value).toString('base64') } : value

function decode(cell: unknown): Value {
  if (cell === null || typeof cell === 'string' || typeof cell === 'number') return cell
  const bytes = (cell as { b?: unknown }).b
  if (typeof bytes === 'string') return Buffer.from(bytes, 'base64')
  throw invalid('a cell of it is neither text, number nor bytes')
}

const invalid = (why: string): Failure =>
  new Failure('backup.invalid', `this is not a whole backup: ${why}`, {}, 'take another backup')
const notEmpty = (): Failure =>
  new Failure(
    'store.not_empty',
    'the store holds something already',
    {},
    'restore into a new store, then point the configuration at it',
  )

import { closeSync, fsyncSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { formatTime } from '../../base/time.ts'
import { openRoot } from '../../files/root.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { type BackupSummary, dump, inspect, invalidBackup, load } from '../../storage/backup.ts'
import { allPages } from '../../storage/page.ts'
import { migrate } from '../../storage/schema.ts'
import { openStore, type Store } from '../../storage/store.ts'
import { listTenants } from '../../storage/tables/tenants.ts'
import { everyTenant } from '../identity/tenants.ts'
import { openDatabase, type Runtime } from '../runtime.ts'
import type { Settings } from '../settings/config.ts'
import { adoptHead } from './accept-loss.ts'
import { headsName, tenantsWithHeads } from './head-file.ts'

/** To be told now and then how many rows have been dealt with. */
export type OnRows = (rows: number) => void

/** Writes the whole store to a new file, from one snapshot, then reads the file back and checks it. */
export async function backUp(ambit: Runtime, path: string, onRows?: OnRows): Promise<BackupSummary> {
  const file = openNew(path)
  const count = counter(onRows)
  try {
    await signHeads(ambit)
    const write = (line: string): void => {
      writeSync(file, `${line}\n`)
      count()
    }
    try {
      await ambit.database.read(() => dump(formatTime(ambit.clock.now()), write))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    return inspect(linesOf(path))
  } catch (error) {
    // Half a backup is worse than none: it would be in the way of the next one, or be trusted.
    unlinkSync(path)
    throw error
  }
}

/** So that a backup brings the proof of what it holds. A head that cannot be signed is no reason to have no backup. */
async function signHeads(ambit: Runtime): Promise<void> {
  for (const { tenant_id } of await everyTenant(ambit))
    await ambit.heads.checkpoint(tenantId(tenant_id)).catch(() => undefined)
}

/** Fills the empty store that the settings name from a backup, of whatever database it was taken. */
export async function restore(settings: Settings, path: string, onRows?: OnRows): Promise<BackupSummary> {
  inspect(linesOf(path))
  const database = await openDatabase(settings)
  try {
    await migrate(database)
    const summary = await load(database, () => counted(linesOf(path), counter(onRows)))
    await adoptHeads(settings, await openStore(database))
    return summary
  } finally {
    await database.close()
  }
}

/** A folder without heads takes those of the backup; one that has them is held against the store at the next start. */
async function adoptHeads(settings: Settings, store: Store): Promise<void> {
  const files = await openRoot(join(settings.dataDir, headsName), { create: true, mode: 0o700 })
  const there = new Set(await tenantsWithHeads(files))
  for (const { tenant_id } of await store.read(() => allPages(listTenants))) {
    const tenant = tenantId(tenant_id)
    if (!there.has(tenant)) await adoptHead(store, files, tenant)
  }
}

const rowsPerTelling = 1_000

function counter(onRows: OnRows = () => undefined): () => void {
  let rows = 0
  return () => {
    if (++rows % rowsPerTelling === 0) onRows(rows)
  }
}

function* counted(lines: Iterable<string>, count: () => void): Generator<string> {
  for (const line of lines) {
    count()
    yield line
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    const code = (error as { code?: string }).code
    if (code === 'EEXIST') throw new Failure('file.exists', 'the backup file exists already', {}, 'name another file')
    const help = 'name a folder that exists and is yours'
    throw new Failure('file.not_found', `the backup file cannot be written: ${code}`, {}, help)
  }
}

const chunkBytes = 1024 * 1024

/** The lines of a file, read piece by piece: a backup may be larger than memory, and a line may not. */
export function* linesOf(path: string): Generator<string> {
  const file = reading(() => openSync(path, 'r'))
  try {
    const chunk = Buffer.alloc(chunkBytes)
    let rest: Buffer = Buffer.alloc(0)
    let line = 1
    for (let read = readInto(chunk, file); read > 0; read = readInto(chunk, file)) {
      rest = Buffer.concat([rest, chunk.subarray(0, read)])
      let start = 0
      for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline, start)) {
        yield textOf(rest.subarray(start, end), line++)
        start = end + 1
      }
      rest = rest.subarray(start)
      if (rest.length > limits.backupLineBytesMax) throw tooLong(line)
    }
    if (rest.length > 0) yield textOf(rest, line)
  } finally {
    closeSync(file)
  }
}

const newline = 0x0a
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(bytes: Buffer, line: number): string {
  if (bytes.length > limits.backupLineBytesMax) throw tooLong(line)
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidBackup('its bytes are not UTF-8', line)
  }
}

const tooLong = (line: number): Failure => invalidBackup(`it has more than ${limits.backupLineBytesMax} bytes`, line)

// A folder opens like a file and fails here.
const readInto = (chunk: Buffer, file: number): number => reading(() => readSync(file, chunk))

function reading<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new Failure('file.not_found', `the backup file cannot be read: ${(error as { code?: string }).code}`)
  }
}

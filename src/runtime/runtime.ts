import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../base/failure.ts'
import type { Ids } from '../base/ids.ts'
import { defined } from '../base/object.ts'
import type { Clock } from '../base/time.ts'
import { memoryRoot } from '../files/memory.ts'
import { type FileRoot, openRoot } from '../files/root.ts'
import { type Keyring, openKeyring } from '../keys/keyring.ts'
import { openSecrets, type Secrets } from '../keys/secrets.ts'
import type { Database } from '../storage/database.ts'
import { openSqlite } from '../storage/drivers/sqlite.ts'
import { openStore, type Store } from '../storage/store.ts'
import { headsName } from './evidence/head-file.ts'
import { type Heads, openHeads } from './evidence/heads.ts'
import { type ConfigSource, loadSettings, type Settings, settingsFrom } from './settings/config.ts'
import type { AmbitConfig } from './settings/user-config.ts'
import { randomIds, systemClock } from './system.ts'

/** Everything a running Ambit consists of: the functions of this folder take it, and use the parts they need. */
export interface Runtime {
  readonly settings: Settings
  readonly clock: Clock
  readonly ids: Ids
  readonly database: Database
  readonly store: Store
  readonly keyring: Keyring
  readonly secrets: Secrets
  readonly heads: Heads
  /** Signs the last heads, then waits for work under way and lets go of everything. */
  close(): Promise<void>
}

/**
 * Opens the store, the keys and the secrets that the configuration names. Refuses to start on a store that was cut or
 * rewritten since its last signed head (`head.mismatch`), and on keys that others can read (`key.permissions`).
 */
export async function openAmbit(source: Partial<ConfigSource> = {}, clock: Clock = systemClock): Promise<Runtime> {
  const settings = await loadSettings({ folder: process.cwd(), env: process.env, ...source })
  return openWith(settings, clock)
}

/** All of it in memory: nothing is read from a disk or written to one. */
export const openInMemory = (given: AmbitConfig, env: ConfigSource['env']): Promise<Runtime> =>
  openWith(
    settingsFrom({ store: { driver: 'sqlite', path: ':memory:' }, ...given }, { folder: '.', env }),
    systemClock,
    { files: memoryRoot() },
  )

/** Without `create` it opens what is there and makes no folder; `files` is instead of the folder of keys. */
export async function openWith(
  settings: Settings,
  clock: Clock = systemClock,
  { create = true, files: given }: { readonly create?: boolean; readonly files?: FileRoot } = {},
): Promise<Runtime> {
  const ids = randomIds(clock)
  const files = given ?? (await privateFolder('keys', settings.keysDir, create))
  const keeping = { files, clock, random: randomBytes, ...defined({ passphrase: settings.passphrase }) }
  const keyring = await openKeyring(keeping)
  const secrets = await openSecrets(keeping)
  const database = await openDatabase(settings, create)
  try {
    const store = await openStore(database)
    const headFiles = await headFolder(settings, create)
    const heads = await openHeads({ store, keyring, clock, files: headFiles, ...settings.checkpoint })
    let closing: Promise<void> | undefined
    const close = (): Promise<void> => (closing ??= heads.close().finally(() => store.close()))
    return { settings, clock, ids, database, store, keyring, secrets, heads, close }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** None for a store in memory: there would be nothing to hold heads against at the next start. */
async function headFolder({ store, dataDir }: Settings, create: boolean): Promise<FileRoot | undefined> {
  if (store.driver === 'sqlite' && store.path === ':memory:') return undefined
  const path = join(dataDir, headsName)
  return create || existsSync(path) ? privateFolder('heads', path, create) : undefined
}

/** A folder that is its owner's alone. A refusal says which one, never where it lies. */
function privateFolder(name: 'keys' | 'heads', path: string, create: boolean): Promise<FileRoot> {
  return openRoot(path, { create, mode: 0o700 }).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error
    const open = `the folder of ${name} is open to others than its owner`
    if (error.code === 'file.permissions') throw new Failure(error.code, open, {}, 'run `chmod 700` on it')
    const help = 'check `dataDir` and `keys.dir`, and who may write there'
    throw create
      ? new Failure('file.unavailable', `the folder of ${name} cannot be made or used`, {}, help)
      : new Failure('file.not_found', `the folder of ${name} is not there`, {}, help)
  })
}

export async function openDatabase({ store, dataDir }: Settings, create = true): Promise<Database> {
  if (store.driver === 'sqlite') {
    if (create && store.path !== ':memory:') makeDataFolder(dataDir)
    return openSqlite(store)
  }
  // Loaded only when configured: most installations never need it.
  const { openPostgres } = await import('../storage/drivers/postgres.ts')
  return openPostgres(store)
}

function makeDataFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    const message = `the data folder cannot be made: ${(error as NodeJS.ErrnoException).code}`
    throw new Failure('file.unavailable', message, {}, 'check `dataDir`, and who may write there')
  }
}

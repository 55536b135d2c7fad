import { existsSync, readdirSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { counted } from '../../base/words.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { schemaVersion, versionOf } from '../../storage/schema.ts'
import { auditTenant } from '../evidence/audit.ts'
import { headsName } from '../evidence/head-file.ts'
import { everyTenant } from '../identity/tenants.ts'
import { makeScanner } from '../knowledge/scan.ts'
import { openDatabase, openWith, type Runtime } from '../runtime.ts'
import { type ConfigSource, loadSettings, type Settings } from '../settings/config.ts'
import { systemClock } from '../system.ts'
import { attempt, type Finding, fail, ok, warn } from './finding.ts'
import { checkApprovers, checkOffer, checkSecrets, checkUpstreams } from './hosting.ts'

export interface DoctorOptions {
  /** Reads every record and recomputes every hash as well. */
  readonly deep?: boolean
  readonly nodeVersion?: string
  readonly onProgress?: (tenant: string, events: number) => void
}

/**
 * Checks an installation from the ground up and changes nothing: what is not there yet is not made. A check that cannot
 * be made because an earlier one failed is left out.
 */
export async function* examine(source: ConfigSource, options: DoctorOptions = {}): AsyncGenerator<Finding> {
  yield checkNode(options.nodeVersion ?? process.versions.node)
  const settings = yield* attempt('configuration', () => loadSettings(source))
  if (settings === undefined) return
  yield ok(
    'configuration',
    settings.file === undefined ? 'no file here: the defaults are in force' : 'read and understood',
  )
  const spec = yield* checkOffer(settings)
  yield* checkKnowledge(settings)
  yield* checkFolder(settings)
  if (settings.store.driver === 'sqlite' && settings.store.path === ':memory:') return yield checkDurability(settings)
  const ambit = yield* openExisting(settings)
  if (ambit === undefined) return
  try {
    yield ok('store', `${settings.store.driver}, schema ${schemaVersion}, every signed head agrees`)
    yield* checkHeads(settings)
    yield checkDurability(settings)
    yield* checkKeys(ambit)
    yield* checkUpstreams(ambit)
    yield* checkSecrets(ambit, spec)
    yield* checkApprovers(ambit, spec)
    if (options.deep) yield* checkRecords(ambit, options)
  } finally {
    await ambit.close()
  }
}

/** Opens the store, where there is one of this version. */
async function* openExisting(settings: Settings): AsyncGenerator<Finding, Runtime | undefined> {
  const { store, tenant } = settings
  const isFile = store.driver === 'sqlite'
  const version = isFile && !existsSync(store.path) ? 0 : yield* attempt('store', () => readVersion(settings))
  if (version === undefined) return undefined
  if (version >= schemaVersion) return yield* attempt('store', () => openWith(settings, systemClock, { create: false }))
  const first = settings.passphrase === undefined ? '; set AMBIT_PASSPHRASE before that to encrypt its keys' : ''
  const [message, help] =
    version === 0
      ? ['not there yet', `run \`ambit tenant create ${tenant}\`: it makes the store as well${first}`]
      : [`schema ${version}; the next command brings it to ${schemaVersion}`, backUpFirst]
  yield warn('store', message, help)
  return undefined
}

const backUpFirst = 'take a backup first, with the release that wrote it'

async function readVersion(settings: Settings): Promise<number> {
  const database = await openDatabase(settings, false)
  return versionOf(database).finally(() => database.close())
}

/** The configured knowledge roots, and what in them cannot be read; nothing where none are configured. */
async function* checkKnowledge({ knowledge }: Settings): AsyncGenerator<Finding> {
  if (knowledge.roots === undefined) return
  const { roots, packs, quarantined } = await makeScanner().scan(knowledge.roots, knowledge)
  const place = 'check its `path` in the configuration'
  for (const { id } of roots.filter(({ missing }) => missing))
    yield fail('knowledge', `the root \`${id}\` is not there, or cannot be read`, place)
  if (quarantined.length === 0)
    return yield ok('knowledge', `${counted(packs.length, 'pack')} in ${counted(roots.length, 'root')}`)
  const unusable = `${quarantined.length} of ${packs.length + quarantined.length} packs cannot be used`
  yield warn('knowledge', unusable, 'run `ambit knowledge discover`: it says what is wrong with each')
}

const nodeMajorMin = 24

function checkNode(version: string): Finding {
  const major = Number.parseInt(version, 10)
  if (major >= nodeMajorMin) return ok('node', `version ${version}`)
  return fail('node', `version ${version} is too old`, `install Node ${nodeMajorMin} or newer`)
}

const freeBytesMin = 512 * 1024 * 1024

async function* checkFolder({ dataDir }: Settings): AsyncGenerator<Finding> {
  const found = statSync(dataDir, { throwIfNoEntry: false })
  if (found === undefined) return yield ok('folder', 'not there yet: it is made at first use')
  const mode = (found.mode & 0o777).toString(8)
  if (!found.isDirectory()) return yield fail('folder', 'the data folder is not a folder', 'check `dataDir`')
  yield (found.mode & 0o077) === 0
    ? ok('folder', `the owner's alone (mode ${mode})`)
    : fail('folder', `others on this machine can read the data folder (mode ${mode})`, 'run `chmod 700` on it')
  const { bavail, bsize } = await statfs(dataDir)
  const free = bavail * bsize
  const shown = `${(free / 1e9).toFixed(1)} GB free`
  yield free >= freeBytesMin
    ? ok('disk', shown)
    : fail('disk', shown, 'free some space: without it nothing can be recorded, and so nothing runs')
}

function* checkHeads({ dataDir }: Settings): Generator<Finding> {
  const folder = join(dataDir, headsName)
  if (!existsSync(folder)) {
    const help = 'put the folder of heads back; if it is lost for good run `ambit store accept-loss` for each tenant'
    return yield fail('heads', 'no signed heads lie here: whether the store was cut cannot be known', help)
  }
  const aside = readdirSync(folder).filter((name) => name.endsWith('.set-aside'))
  if (aside.length > 0)
    yield warn('heads', `a loss was accepted: ${aside.join(', ')}`, 'keep these files: they prove what was there')
}

function checkDurability({ store }: Settings): Finding {
  if (store.driver === 'postgres') return ok('durability', "the server's: keep `synchronous_commit` on")
  if (store.path === ':memory:')
    return warn('durability', 'the store ends with the process', 'set `store.path` to a file')
  if (store.durability === 'full') return ok('durability', 'full: a record is on the disk before it is acknowledged')
  return warn('durability', 'normal: a power cut may lose the newest records', "set `store.durability` to 'full'")
}

async function* checkKeys(ambit: Runtime): AsyncGenerator<Finding> {
  const tenants = await everyTenant(ambit)
  if (tenants.length === 0)
    return yield warn('tenants', 'there is none yet', `run \`ambit tenant create ${ambit.settings.tenant}\``)
  const { tenant: id } = ambit.settings
  const found = tenants.find(({ tenant_id }) => tenant_id === id)
  if (found === undefined)
    yield warn('tenants', `the configured \`${id}\` does not exist`, `run \`ambit tenant create ${id}\``)
  else if (found.status !== 'active')
    yield fail('tenants', `\`${id}\` is suspended`, `run \`ambit tenant resume ${id}\``)
  else yield ok('tenants', tenants.map((tenant) => tenant.tenant_id).join(', '))
  let good = true
  for (const { tenant_id, host_id } of tenants) {
    const signer = yield* attempt('keys', () => ambit.keyring.signer(host_id))
    if (signer !== undefined) yield ok('keys', `\`${host_id}\` signs with ${signer.keyId}`)
    const secrets = yield* attempt('secrets', () => ambit.secrets.list(tenantId(tenant_id)))
    good &&= signer !== undefined && secrets !== undefined
  }
  if (good) yield checkPassphrase(ambit.settings)
}

function checkPassphrase({ passphrase }: Settings): Finding {
  if (passphrase !== undefined) return ok('passphrase', 'keys and secrets are encrypted on the disk')
  const message = 'keys and secrets lie unencrypted, readable by the owner alone'
  const help = 'nothing to do: a passphrase counts only if it was set before the first tenant was made'
  return warn('passphrase', message, help)
}

async function* checkRecords(ambit: Runtime, { onProgress }: DoctorOptions): AsyncGenerator<Finding> {
  for (const { tenant_id } of await everyTenant(ambit)) {
    const report = await auditTenant(ambit, tenant_id, (events) => onProgress?.(tenant_id, events))
    const message = `\`${tenant_id}\`: ${report.message}`
    yield report.ok ? ok('records', message) : fail('records', message, 'restore the newest backup that verifies')
  }
}

import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { type Config, configWithCode } from '../../model/config/config.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { parseAs } from '../../model/parse.ts'
import { settleKnowledge } from '../knowledge/settings.ts'
import { settleHosting } from './hosting.ts'
import type { AmbitConfig } from './user-config.ts'
import { importUserModule } from './user-module.ts'

/** Only one of them may be in a folder. `.mts` and `.mjs` are for packages that are not `"type": "module"`. */
export const configNames = [
  'ambit.config.ts',
  'ambit.config.mts',
  'ambit.config.js',
  'ambit.config.mjs',
  'ambit.config.json',
] as const

/** A configuration with every default filled in and every path absolute. */
export type Settings = Readonly<ReturnType<typeof settle>>

export interface ConfigSource {
  readonly folder: string
  /** Instead of looking in `folder`. */
  readonly file?: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads a module again that this process has read before. */
  readonly fresh?: boolean
}

/** The settings in force: those of the configuration file, or the defaults when there is none. */
export async function loadSettings(source: ConfigSource): Promise<Settings> {
  const file = findConfig(source)
  if (file === undefined) return settle({}, source)
  const { value, files } = await load(file, source.fresh)
  return settle(checked(value, quote(basename(file))), source, file, files)
}

/** The settings that an object in code says, with its paths below `folder`. */
export const settingsFrom = (given: AmbitConfig, source: Pick<ConfigSource, 'folder' | 'env'>): Settings =>
  settle(checked(given, '`createAmbit`'), source)

const checked = (given: unknown, name: string): AmbitConfig => parseAs(configWithCode, given, name) as AmbitConfig

function findConfig({ folder, file }: ConfigSource): string | undefined {
  const wanted = file === undefined ? configNames.map((name) => join(folder, name)) : [resolve(folder, file)]
  const [found, other] = wanted.filter(existsSync)
  if (found !== undefined && other !== undefined) {
    const message = `there are two configurations here, ${quote(basename(found))} and ${quote(basename(other))}`
    throw new Failure('config.invalid', message, {}, 'remove one, or name the one you mean with --config')
  }
  if (found === undefined && file !== undefined) {
    const help = 'correct the path, which starts at the folder you are in, or run `ambit init` to write one'
    throw new Failure('config.not_found', `configuration ${quote(file)} not found`, {}, help)
  }
  return found
}

async function load(file: string, fresh = false) {
  const { value, files } = await read(file, fresh).catch((error: unknown) => {
    throw unloadable(basename(file), error)
  })
  if (value !== undefined) return { value, files }
  throw new Failure('config.invalid', 'the configuration exports nothing', {}, 'write `export default { … }`')
}

async function read(file: string, fresh: boolean) {
  if (file.endsWith('.json')) return { value: readJson(readFileSync(file)), files: [file] }
  const { exports, files } = await importUserModule(file, { fresh })
  return { value: exports['default'], files }
}

/** Whatever goes wrong while a file of the user is read becomes one line without the host's paths. */
function unloadable(name: string, error: unknown): Failure {
  const message = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : 'it threw'
  const help = error instanceof Failure ? error.help : undefined
  const hint = hints.find(([pattern]) => pattern.test(message))?.[1]
  const text = `${quote(name)} does not load: ${withoutPaths(message)}${lineIn(name, error)}`
  return new Failure('config.invalid', text, {}, help ?? hint)
}

/** Where in the configuration something was thrown, as far as the error knows. */
function lineIn(name: string, error: unknown): string {
  const places =
    error instanceof Error && !(error instanceof Failure) ? (error.stack ?? '').split(`/${name}`).slice(1) : []
  const [line] = places.flatMap((rest) => /^(?:\?[^:\s]*)?:(\d+)/.exec(rest)?.[1] ?? [])
  return line === undefined ? '' : ` (line ${line})`
}

const hints: readonly [RegExp, string][] = [
  [/'export'|import statement/, 'this package is not `"type": "module"`: rename the file to `ambit.config.mts`'],
  [/strip-only mode/, 'only TypeScript that Node can strip works here: no enums, namespaces or parameter properties'],
]

const withoutPaths = (message: string): string => message.replace(/(?:file:\/\/)?(?:\/[^\s'"/]+)+\/([^\s'"/]+)/g, '$1')

function settle(
  given: AmbitConfig,
  { folder, env }: Pick<ConfigSource, 'folder' | 'env'>,
  file?: string,
  files: readonly string[] = [],
) {
  const base = file === undefined ? folder : dirname(file)
  const dataDir = resolve(base, given.dataDir ?? '.ambit')
  return {
    /** The file the settings came from, or undefined when there was none. */
    file,
    dataDir,
    keysDir: resolve(base, given.keys?.dir ?? join(dataDir, 'keys')),
    store: settleStore(given.store, base, dataDir, env),
    tenant: tenantId(given.tenant ?? 'local'),
    passphrase: passphraseFrom(given.keys?.passphraseEnv, env),
    checkpoint: { everyEvents: given.checkpoint?.everyEvents ?? 1_000, everyMs: given.checkpoint?.everyMs ?? 60_000 },
    /** How long a running host keeps correlations; undefined keeps all. */
    retention: given.retention,
    hosting: settleHosting(given, base, file && quote(basename(file))),
    knowledge: settleKnowledge(given.knowledge, base),
    /** The files of the user that the settings were made of: the configuration, and what it imports. */
    files,
  }
}

/** A variable that the configuration names must be set: otherwise keys would silently lie there unencrypted. */
function passphraseFrom(name: string | undefined, env: ConfigSource['env']): string | undefined {
  const passphrase = env[name ?? 'AMBIT_PASSPHRASE'] || undefined
  if (passphrase !== undefined || name === undefined) return passphrase
  const help = `set ${name} to the passphrase, or take \`passphraseEnv\` out`
  throw new Failure('config.invalid', `keys: the variable ${quote(name)} is not set`, {}, help)
}

function settleStore(given: Config['store'], base: string, dataDir: string, env: ConfigSource['env']) {
  if (given?.driver !== 'postgres') {
    const path = given?.path === ':memory:' ? given.path : resolve(base, given?.path ?? join(dataDir, 'ambit.db'))
    return { driver: 'sqlite', path, durability: given?.durability ?? 'full' } as const
  }
  const name = given.urlEnv ?? 'AMBIT_DATABASE_URL'
  const url = given.url ?? env[name]
  if (url) return { driver: 'postgres', url } as const
  const help = `set ${name} to a postgres:// address`
  throw new Failure('config.invalid', `store: neither \`url\` nor the variable ${quote(name)} is set`, {}, help)
}

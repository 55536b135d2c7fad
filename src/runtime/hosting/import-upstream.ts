import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, resolve } from 'node:path'
import type { UpstreamDeps } from '../../adapters/adapter.ts'
import { type Egress, egressHelp } from '../../adapters/egress/egress.ts'
import { presentOf } from '../../adapters/mcp/accept.ts'
import { type Difference, differencesOf } from '../../adapters/mcp/changes.ts'
import { driftOf, type ToolDefinition } from '../../adapters/mcp/definition.ts'
import { discoverTools } from '../../adapters/mcp/discover.ts'
import { claimOf, type ImportOptions, importTools, type Offered } from '../../adapters/mcp/import.ts'
import { mergeServer, mergeUpstream, renewDescriptor } from '../../adapters/merge.ts'
import { importOpenApi } from '../../adapters/openapi/import.ts'
import { replaceCredentials, secretNames } from '../../adapters/secret-text.ts'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { secretValue } from '../../keys/secret-value.ts'
import {
  type HttpUpstream,
  type McpUpstream,
  mcpServer,
  type Upstream,
  upstreamName,
  upstream as upstreamShape,
} from '../../model/config/upstream.ts'
import { parseAs } from '../../model/parse.ts'
import { inScope } from '../../model/text.ts'
import { collect } from '../collect.ts'
import { type Caller, demand } from '../identity/caller.ts'
import { setSecret } from '../identity/secrets.ts'
import type { Runtime } from '../runtime.ts'
import { readBytes, readUpstream } from './config-files.ts'
import { upstreamDeps } from './upstreams.ts'

/** What could be offered, for people to look at before it is kept. */
export interface Imported {
  readonly file: string
  readonly upstream: Upstream
  /** What changes in a file that is there already. */
  readonly changes?: readonly Difference[]
  /** What cannot be offered, and why. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[]
  readonly notes: readonly string[]
  /** What could have been asked for, whether it was or not. */
  readonly names: readonly string[]
  /** Credentials that were written out, by the names of the secrets that they become. */
  readonly secrets?: ReadonlyMap<string, string>
}

/** A tool that is in the file already is refreshed only if `include` or `reads` names it. */
export interface ImportWish extends ImportOptions {
  readonly name: string
  /** Where it will be written, into what is there already. */
  readonly file: string
}

interface McpWish extends ImportWish {
  /** Without one that of the file. */
  readonly server?: McpUpstream['server'] | undefined
}

/** Reads what an MCP server offers. */
export async function importMcp(ambit: Runtime, caller: Caller, { name, file, ...wish }: McpWish): Promise<Imported> {
  checkName(name)
  const deps = importDeps(ambit, caller)
  const before = fileOf({ adapter: 'mcp', name }, file)
  const { server, secrets } = withHandles(name, serverFor(wish.server, before?.server))
  checkFolder(server, deps.folder)
  const secret: UpstreamDeps['secret'] = async (handle) => {
    const value = secrets.get(handle.slice('secret:'.length))
    return value === undefined ? deps.secret(handle) : secretValue(handle, value)
  }
  const { tools, ...found } = await discoverTools({ name, server }, { ...deps, secret })
  const { upstream: made, skipped } = importTools(name, server, tools, before ? named(wish) : wish)
  const refresh = (old: Offered, { tool }: Offered): Offered => {
    const isRead = (wish.reads ?? []).some((scope) => inScope(scope, tool))
    return before && (wish.include || isRead) ? presentOf(before, tools, tool, isRead) : old
  }
  const upstream = before ? mergeUpstream(before, made, refresh) : made
  const who = found.server === undefined ? 'the server' : `${found.server.name} ${found.server.version}`
  const kept = [...secrets.keys()].map(
    (handle) => `a credential becomes \`secret:${handle}\`: the file names only that`,
  )
  return {
    file,
    upstream: parseAs(upstreamShape, upstream, 'upstream'),
    ...(before && { changes: changesIn(before, upstream) }),
    skipped: skipped.map(({ tool, reason }) => ({ what: tool, reason })),
    notes: [
      `${who} speaks MCP ${found.protocol}`,
      ...kept,
      ...notesOf(upstream),
      ...hintsFor(upstream, tools, wish.reads),
    ],
    names: tools.map((tool) => tool.name),
    secrets,
  }
}

/** Into a file that is there, what `reads` names is taken where nothing is named to be included. */
const named = ({ include, reads, ...wish }: ImportOptions): ImportOptions => ({
  ...wish,
  ...defined({ include: include ?? reads, reads }),
})

function serverFor(given: McpUpstream['server'] | undefined, before: McpUpstream['server'] | undefined) {
  const whole = given && withWholeCommand(parseAs(mcpServer, given, 'the server'))
  const server = whole && before ? mergeServer(withWholeCommand(before), whole) : (whole ?? before)
  if (server !== undefined) return server
  const help = 'write `-- command arguments`, or `--url`'
  throw new Failure('field.invalid', 'an MCP server is a command or an address', {}, help)
}

/**
 * The server with the whole path of its program instead of a bare name: the search path may be another one when it is
 * started later. A name that is not found stays, and so do all on Windows, which adds endings.
 */
function withWholeCommand(server: McpUpstream['server']): McpUpstream['server'] {
  if ('url' in server || /[/\\]/.test(server.command) || process.platform === 'win32') return server
  const folders = (server.env?.['PATH'] ?? process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  for (const folder of folders)
    try {
      const command = resolve(folder, server.command)
      accessSync(command, constants.X_OK)
      return { ...server, command }
    } catch {}
  return server
}

/** The server with handles in the place of credentials, and the secrets that they stand for. */
function withHandles(name: string, given: McpUpstream['server']) {
  const secrets = new Map<string, string>()
  const server = replaceCredentials(given, (place, credential) => {
    let handle = `${name}.${place.replace(/[^A-Za-z0-9_.-]/g, '_')}`.slice(0, 60)
    while ((secrets.get(handle) ?? credential) !== credential) handle += '_'
    secrets.set(handle, credential)
    return `{secret:${handle}}`
  })
  return { server, secrets }
}

/** What a person may want to do about tools. */
function hintsFor(upstream: McpUpstream, tools: readonly ToolDefinition[], named: readonly string[] = []) {
  const asked = new Set(
    upstream.capabilities.flatMap(({ tool, descriptor }) => (descriptor.side_effects?.[0] ? [tool] : [])),
  )
  const reads = tools.filter((tool) => claimOf(tool) === 'reads' && asked.has(tool.name)).map(({ name }) => name)
  const contradicted = tools
    .filter((tool) => claimOf(tool) === 'changes' && named.some((scope) => inScope(scope, tool.name)))
    .map(({ name }) => name)
  const look = `look with \`ambit capabilities drift ${upstream.name}\`, or name it with --include`
  const hint = (names: readonly string[], text: string) =>
    names.slice(0, 1).map(() => `${names.map(quote).join(' ')}: ${text}`)
  return [
    ...hint(reads, 'said by the server to only read: if you know so, name it with --reads'),
    ...hint(contradicted, 'said by the server to change something, so that --reads does not count'),
    ...hint(driftOf(upstream, tools).changed, `changed since accepted: ${look}`),
  ]
}

/** The file that is imported into, if it is there; fails if it describes something else. */
function fileOf<A extends Upstream['adapter']>({ adapter, name }: { adapter: A; name: string }, path: string) {
  if (!existsSync(path)) return undefined
  const found = readUpstream({ path, name: basename(path) })
  if (found.adapter === adapter && found.name === name) return found as Extract<Upstream, { adapter: A }>
  const message = `${quote(basename(path))} describes another upstream, ${quote(found.name)}`
  throw new Failure('upstream.invalid', message, {}, 'write it to another file with `--out`')
}

/** What changes in a file; of what is added, only that it is. */
function changesIn(before: Upstream, after: Upstream): readonly Difference[] {
  const known = new Set(before.capabilities.map(({ descriptor }) => descriptor.id))
  const shownOf = ({ server, capabilities }: Upstream) => {
    const shown = capabilities.map((one) => [one.descriptor.id, known.has(one.descriptor.id) ? one : 'added'])
    return { server: replaceCredentials(server, () => '…'), ...Object.fromEntries(shown) } as Json
  }
  return differencesOf(shownOf(before), shownOf(after))
}

type Operation = HttpUpstream['capabilities'][number]

interface DocumentWish extends ImportWish {
  /** An address, or a file in `folder`. */
  readonly document: string
  readonly folder: string
  readonly server?: string
}

/** Reads an OpenAPI document, from a file or from an address that may be reached. */
export async function importDocument(
  ambit: Runtime,
  caller: Caller,
  { document, folder, file, ...wish }: DocumentWish,
): Promise<Imported> {
  checkName(wish.name)
  const json = await documentAt(document, folder, importDeps(ambit, caller))
  const before = fileOf({ adapter: 'http', name: wish.name }, file)
  const { upstream: made, skipped, notes, names } = toldOf(document, () => importOpenApi(json, wish))
  // The document is what somebody gives now: its operations are refreshed, with the policy that people wrote.
  const refresh = (old: Operation, now: Operation) => ({
    ...now,
    descriptor: renewDescriptor(old.descriptor, now.descriptor),
  })
  // A document that names another server moves no credential there: only a person does, with `--server`.
  const url = wish.server === undefined && before ? before.server.url : made.server.url
  const server = before ? mergeServer(before.server, { ...made.server, url }) : made.server
  const upstream = before ? mergeUpstream(before, { ...made, server }, refresh) : made
  return {
    file,
    upstream: parseAs(upstreamShape, upstream, 'upstream'),
    ...(before && { changes: changesIn(before, upstream) }),
    skipped: skipped.map(({ operation, reason }) => ({ what: operation, reason })),
    notes: [...notes, ...notesOf(upstream)],
    names,
  }
}

/** Who calls what is open does so with the secrets that go with it: people should know before they keep that. */
function notesOf({ server, capabilities }: Upstream): readonly string[] {
  const isOpen = (capability: Upstream['capabilities'][number]): boolean => {
    const sent = JSON.stringify([server, 'request' in capability && capability.request])
    return capability.descriptor.policy?.auth_required === false && secretNames([sent]).length > 0
  }
  const note = 'what is open is done with your secrets for callers without a key too: restrict it if they should not'
  return capabilities.some(isOpen) ? [note] : []
}

/** What is wrong with a document is told with its name. */
function toldOf<T>(document: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const isServer = String(error.data['pointer']).startsWith('/servers')
    const help = isServer ? 'give its address with `--server`' : error.help
    throw new Failure(error.code, error.message.replace(/^the document\b/, quote(document)), error.data, help)
  }
}

/** Writes what was imported, and keeps its credentials as secrets. */
export async function keepImported(
  ambit: Runtime,
  caller: Caller,
  imported: Imported,
  isMerged: boolean,
): Promise<void> {
  keepUpstream(imported.file, imported.upstream, { replace: isMerged })
  for (const [name, value] of imported.secrets ?? []) await setSecret(ambit, caller, name, value)
}

/** Writes the file of an upstream. One that is there is kept, unless it is to be replaced. */
export function keepUpstream(path: string, upstream: Upstream, { replace = false } = {}): void {
  mkdirSync(dirname(path), { recursive: true })
  const text = `${JSON.stringify(upstream, null, 2)}\n`
  const next = replace ? `${path}.next` : path
  if (replace) rmSync(next, { force: true })
  writeNew(next, text)
  if (replace) renameSync(next, path)
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const help = 'use `--force` to merge into it: what people wrote stays'
    throw new Failure('file.exists', `${quote(basename(path))} is there already`, {}, help)
  }
}

const importDeps = (ambit: Runtime, caller: Caller): UpstreamDeps => {
  demand(caller, 'administer')
  return upstreamDeps(ambit, caller.tenant, ambit.settings.hosting, () => undefined)
}

/** Said before anything is started or fetched under it. */
const checkName = (name: string): void => void parseAs(upstreamName, name, 'the name of the upstream')

/** Said here, because a system that cannot start a program there says the same of a program that is not there. */
function checkFolder(server: McpUpstream['server'], folder: string): void {
  if ('url' in server || server.cwd === undefined) return
  if (statSync(resolve(folder, server.cwd), { throwIfNoEntry: false })?.isDirectory()) return
  const help = 'name it from the folder of the configuration'
  throw new Failure('upstream.invalid', `the folder ${quote(server.cwd)} to run the command in is not there`, {}, help)
}

async function documentAt(place: string, folder: string, { egress }: UpstreamDeps): Promise<Json> {
  const bytes = /^https?:\/\//.test(place)
    ? await fetched(place, egress)
    : readBytes({ path: resolve(folder, place), name: place }, 'upstream.invalid')
  try {
    return readJson(bytes, { bytesMax })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const help = looksLikeJson(bytes) ? error.help : 'give the document as JSON: YAML is not read'
    throw new Failure('upstream.invalid', `${quote(place)}: ${error.message}`, error.data, help)
  }
}

const looksLikeJson = (bytes: Uint8Array): boolean => /^\s*[{[]/.test(Buffer.from(bytes.subarray(0, 256)).toString())

const bytesMax = limits.upstreamFileBytesMax
const tooLarge = (): Failure => new Failure('payload.too_large', `the document has more than ${bytesMax} bytes`)

async function fetched(place: string, egress: Egress): Promise<Uint8Array> {
  try {
    const answer = await egress.fetch(place, { headers: { accept: 'application/json' } })
    if (answer.ok) return await collect(answer.body ?? [], bytesMax, tooLarge)
    await answer.body?.cancel()
    throw new Failure('upstream.invalid', `${quote(place)} answered with status ${answer.status}`)
  } catch (error) {
    throw unreachable(place, error)
  }
}

/** Why an address did not answer, and what to do; any other error as it is. */
export function unreachable(place: string, error: unknown): unknown {
  if (!(error instanceof CallEnded)) return error
  const help = error.code === 'egress_refused' ? egressHelp(place) : 'check the address'
  return new Failure('host.unreachable', `${quote(place)}: ${error.message}`, { code: error.code }, help)
}

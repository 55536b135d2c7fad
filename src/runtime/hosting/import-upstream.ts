import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, resolve } from 'node:path'
import type { UpstreamDeps } from '../../adapters/adapter.ts'
import { type Egress, egressHelp } from '../../adapters/egress/egress.ts'
import { type Difference, differencesOf, presentOf } from '../../adapters/mcp/accept.ts'
import { discoverTools } from '../../adapters/mcp/discover.ts'
import { claimOf, type ImportOptions, importTools, type Offered } from '../../adapters/mcp/import.ts'
import { driftOf, type ToolDefinition } from '../../adapters/mcp/tool-drift.ts'
import { mergeServer, mergeUpstream, renewDescriptor } from '../../adapters/merge.ts'
import { importOpenApi } from '../../adapters/openapi/import.ts'
import { replaceCredentials, secretNames } from '../../adapters/secret-text.ts'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { secretValue } from '../../keys/secrets.ts'
import type { HttpUpstream, McpUpstream, Upstream } from '../../model/config/upstream.ts'
import { mcpServer, upstreamName, upstream as upstreamShape } from '../../model/config/upstream.ts'
import { parseAs } from '../../model/parse.ts'
import { inScopes } from '../../model/text.ts'
import { collect } from '../collect.ts'
import { type Caller, demand } from '../identity/caller.ts'
import { setSecret } from '../identity/secrets.ts'
import type { Runtime } from '../runtime.ts'
import { readBytes, readUpstream } from './config-files.ts'
import { upstreamDeps } from './upstreams.ts'

/** What could be offered, for people to review before it is kept. */
export interface Imported {
  readonly file: string
  readonly upstream: Upstream
  /** The changes in an existing file. */
  readonly changes?: readonly Difference[]
  /** What cannot be offered, and why. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[]
  readonly notes: readonly string[]
  /** All names that could have been asked for. */
  readonly names: readonly string[]
  /** Credentials that were written out, by the names of the secrets that they become. */
  readonly secrets?: ReadonlyMap<string, string>
}

/** A tool that is in the file already is refreshed only if `include` or `reads` names it. */
export interface ImportWish extends ImportOptions {
  readonly name: string
  /** The file to write, or to merge into. */
  readonly file: string
}

/** Reads what an MCP server offers, by default the one in the file. */
export async function importMcp(
  ambit: Runtime,
  caller: Caller,
  { name, file, ...wish }: ImportWish & { readonly server?: McpUpstream['server'] | undefined },
): Promise<Imported> {
  const { deps, before } = startImport(ambit, caller, { adapter: 'mcp', name, file })
  const { server, secrets } = withHandles(name, serverFor(wish.server, before?.server))
  checkFolder(server, deps.folder)
  const secret: UpstreamDeps['secret'] = async (handle) => {
    const value = secrets.get(handle.slice('secret:'.length))
    return value === undefined ? deps.secret(handle) : secretValue(handle, value)
  }
  const { tools, ...found } = await discoverTools({ name, server }, { ...deps, secret })
  // Into a file that is there, only named tools are taken: those to include, or else those that read.
  const chosen = before ? { ...wish, ...defined({ include: wish.include ?? wish.reads }) } : wish
  const { upstream: made, skipped } = importTools(name, server, tools, chosen)
  const refresh = (old: Offered, { tool }: Offered): Offered => {
    const isRead = inScopes(wish.reads ?? [], tool)
    return before && (wish.include || isRead) ? presentOf(before, tools, tool, isRead) : old
  }
  const upstream = before ? mergeUpstream(before, made, refresh) : made
  const who = found.server === undefined ? 'the server' : `${found.server.name} ${found.server.version}`
  return {
    ...describeImport(file, before, upstream),
    skipped: skipped.map(({ tool, reason }) => ({ what: tool, reason })),
    notes: [
      `${who} speaks MCP ${found.protocol}`,
      ...secrets.keys().map((handle) => `a credential becomes \`secret:${handle}\`: the file names only that`),
      ...notesOn(upstream),
      ...hintsFor(upstream, tools, wish.reads),
    ],
    names: tools.map((tool) => tool.name),
    secrets,
  }
}

const describeImport = (file: string, before: Upstream | undefined, upstream: Upstream) => ({
  file,
  upstream: parseAs(upstreamShape, upstream, 'upstream'),
  ...(before && { changes: changesIn(before, upstream) }),
})

function serverFor(given: McpUpstream['server'] | undefined, before: McpUpstream['server'] | undefined) {
  const whole = given && withWholeCommand(parseAs(mcpServer, given, 'the server'))
  const server = whole && before ? mergeServer(withWholeCommand(before), whole) : (whole ?? before)
  if (server !== undefined) return server
  const help = 'write `-- command arguments`, or `--url`'
  throw new Failure('field.invalid', 'an MCP server is a command or an address', {}, help)
}

/** With the whole path of its program, as the search path may change. What is not found stays, as on Windows. */
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

/** Hints for people about single tools. */
function hintsFor(upstream: McpUpstream, tools: readonly ToolDefinition[], named: readonly string[] = []) {
  const { capabilities } = upstream
  const changes = capabilities.filter(({ descriptor }) => descriptor.side_effects?.[0]).map(({ tool }) => tool)
  const claiming = (claim: 'reads' | 'changes') =>
    tools.filter((tool) => claimOf(tool) === claim).map(({ name }) => name)
  const reads = claiming('reads').filter((name) => changes.includes(name))
  const contradicted = claiming('changes').filter((name) => inScopes(named, name))
  const look = `look with \`ambit capabilities drift ${upstream.name}\`, or name it with --include`
  const hint = (names: readonly string[], text: string) =>
    names.length === 0 ? [] : [`${names.map(quote).join(' ')}: ${text}`]
  return [
    ...hint(reads, 'said by the server to only read: if you know so, name it with --reads'),
    ...hint(contradicted, 'said by the server to change something, so that --reads does not count'),
    ...hint(driftOf(upstream, tools).changed, `changed since accepted: ${look}`),
  ]
}

/** Checked before anything is started or fetched under this name. `before` is the file that is imported into, if it exists. */
function startImport<A extends Upstream['adapter']>(
  ambit: Runtime,
  caller: Caller,
  { adapter, name, file: path }: { readonly adapter: A; readonly name: string; readonly file: string },
) {
  demand(caller, 'administer')
  parseAs(upstreamName, name, 'the name of the upstream')
  const deps = upstreamDeps(ambit, caller.tenant, ambit.settings.hosting, () => undefined)
  if (!existsSync(path)) return { deps }
  const found = readUpstream({ path, name: basename(path) })
  if (found.adapter === adapter && found.name === name)
    return { deps, before: found as Extract<Upstream, { adapter: A }> }
  const message = `${quote(basename(path))} describes another upstream, ${quote(found.name)}`
  throw new Failure('upstream.invalid', message, {}, 'write it to another file with `--out`')
}

/** The changes in a file; new capabilities only as added. */
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
  const { deps, before } = startImport(ambit, caller, { adapter: 'http', name: wish.name, file })
  const json = await readDocument(document, folder, deps)
  const { upstream: made, skipped, notes, names } = nameDocument(document, () => importOpenApi(json, wish))
  // Operations are refreshed from the document, and keep the policy that people wrote.
  const refresh = (old: Operation, now: Operation) => ({
    ...now,
    descriptor: renewDescriptor(old.descriptor, now.descriptor),
  })
  // A document that names another server moves no credential there: only a person does, with `--server`.
  const url = wish.server === undefined && before ? before.server.url : made.server.url
  const server = before ? mergeServer(before.server, { ...made.server, url }) : made.server
  const upstream = before ? mergeUpstream(before, { ...made, server }, refresh) : made
  return {
    ...describeImport(file, before, upstream),
    skipped: skipped.map(({ operation, reason }) => ({ what: operation, reason })),
    notes: [...notes, ...notesOn(upstream)],
    names,
  }
}

/** A warning that callers without a key use the secrets of open capabilities. */
function notesOn({ server, capabilities }: Upstream): readonly string[] {
  const isOpen = (capability: Upstream['capabilities'][number]): boolean => {
    const sent = JSON.stringify([server, 'request' in capability && capability.request])
    return capability.descriptor.policy?.auth_required === false && secretNames([sent]).length > 0
  }
  const note = 'open capabilities use your secrets for callers without a key too: restrict those that should not'
  return capabilities.some(isOpen) ? [note] : []
}

/** Failures of a document carry its name. */
function nameDocument<T>(document: string, work: () => T): T {
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
export async function keepImported(ambit: Runtime, caller: Caller, imported: Imported, isMerged: boolean) {
  keepUpstream(imported.file, imported.upstream, { replace: isMerged })
  for (const [name, value] of imported.secrets ?? []) await setSecret(ambit, caller, name, value)
}

/** Writes the file of an upstream. An existing one is kept, unless it is to be replaced. */
export function keepUpstream(path: string, upstream: Upstream, { replace = false } = {}): void {
  mkdirSync(dirname(path), { recursive: true })
  const next = replace ? `${path}.next` : path
  try {
    if (replace) rmSync(next, { force: true })
    writeFileSync(next, `${JSON.stringify(upstream, null, 2)}\n`, { flag: 'wx' })
    if (replace) renameSync(next, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const help = 'use `--force` to merge into it: what people wrote stays'
    throw new Failure('file.exists', `${quote(basename(path))} is there already`, {}, help)
  }
}

/** Checked here, because the system reports a missing folder like a missing program. */
function checkFolder(server: McpUpstream['server'], folder: string): void {
  if ('url' in server || server.cwd === undefined) return
  if (statSync(resolve(folder, server.cwd), { throwIfNoEntry: false })?.isDirectory()) return
  const help = 'name it from the folder of the configuration'
  throw new Failure('upstream.invalid', `the folder ${quote(server.cwd)} to run the command in is not there`, {}, help)
}

async function readDocument(place: string, folder: string, { egress }: UpstreamDeps): Promise<Json> {
  const bytes = /^https?:\/\//.test(place)
    ? await fetchDocument(place, egress)
    : readBytes({ path: resolve(folder, place), name: place }, 'upstream.invalid')
  try {
    return readJson(bytes, { bytesMax })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const isJson = /^\s*[{[]/.test(Buffer.from(bytes.subarray(0, 256)).toString())
    const help = isJson ? error.help : 'give the document as JSON: YAML is not read'
    throw new Failure('upstream.invalid', `${quote(place)}: ${error.message}`, error.data, help)
  }
}

const bytesMax = limits.upstreamFileBytesMax
const tooLarge = (): Failure => new Failure('payload.too_large', `the document has more than ${bytesMax} bytes`)

async function fetchDocument(place: string, egress: Egress): Promise<Uint8Array> {
  try {
    const answer = await egress.fetch(place, { headers: { accept: 'application/json' } })
    if (answer.ok) return await collect(answer.body ?? [], bytesMax, tooLarge)
    await answer.body?.cancel()
    throw new Failure('upstream.invalid', `${quote(place)} answered with status ${answer.status}`)
  } catch (error) {
    throw unreachable(place, error)
  }
}

/** The failure of an address that did not answer, with help; any other error as it is. */
export function unreachable(place: string, error: unknown): unknown {
  if (!(error instanceof CallEnded)) return error
  const help = error.code === 'egress_refused' ? egressHelp(place) : 'check the address'
  return new Failure('host.unreachable', `${quote(place)}: ${error.message}`, { code: error.code }, help)
}

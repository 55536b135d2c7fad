import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import type { UpstreamDeps } from '../gateway/adapters/adapter.ts'
import { type Egress, egressHelp } from '../gateway/adapters/egress.ts'
import { discoverTools } from '../gateway/adapters/mcp/discover.ts'
import { importTools } from '../gateway/adapters/mcp/import.ts'
import { importOpenApi } from '../gateway/adapters/openapi/import.ts'
import { secretNames } from '../gateway/adapters/secret-text.ts'
import { CallEnded } from '../gateway/ended.ts'
import { parseAs } from '../model/parse.ts'
import {
  type McpUpstream,
  mcpServer,
  type Upstream,
  upstreamName,
  upstream as upstreamShape,
} from '../model/upstream.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand } from './caller.ts'
import { collect } from './collect.ts'
import { bytesOf } from './named-file.ts'
import { upstreamDeps } from './upstreams.ts'
import { withWholeCommand } from './whole-command.ts'

/** What could be offered, for people to look at before it is kept. */
export interface Imported {
  readonly upstream: Upstream
  /** What cannot be offered, and why. */
  readonly skipped: readonly { readonly what: string; readonly reason: string }[]
  readonly notes: readonly string[]
  /** What could have been asked for, whether it was or not. */
  readonly names: readonly string[]
}

export interface ImportWish {
  readonly name: string
  /** Names, or their beginnings with a `*`; without them all. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
}

/** Reads what an MCP server offers. */
export async function importMcp(
  ambit: Ambit,
  caller: Caller,
  { name, server: given, ...wish }: ImportWish & { readonly server: McpUpstream['server'] },
): Promise<Imported> {
  checkName(name)
  parseAs(mcpServer, given, 'the server')
  const server = withWholeCommand(given)
  const deps = importDeps(ambit, caller)
  checkFolder(server, deps.folder)
  const found = await discoverTools({ name, server }, deps)
  const { upstream, skipped } = importTools(name, server, found.tools, wish)
  const who = found.server === undefined ? 'the server' : `${found.server.name} ${found.server.version}`
  return {
    upstream: parseAs(upstreamShape, upstream, 'upstream'),
    skipped: skipped.map(({ tool, reason }) => ({ what: tool, reason })),
    notes: [`${who} speaks MCP ${found.protocol}`, ...notesOf(upstream)],
    names: found.tools.map((tool) => tool.name),
  }
}

interface DocumentWish extends ImportWish {
  /** An address, or a file in `folder`. */
  readonly document: string
  readonly folder: string
  readonly server?: string
}

/** Reads an OpenAPI document, from a file or from an address that may be reached. */
export async function importDocument(
  ambit: Ambit,
  caller: Caller,
  { document, folder, ...wish }: DocumentWish,
): Promise<Imported> {
  checkName(wish.name)
  const json = await documentAt(document, folder, importDeps(ambit, caller))
  const { upstream, skipped, notes, names } = toldOf(document, () => importOpenApi(json, wish))
  return {
    upstream: parseAs(upstreamShape, upstream, 'upstream'),
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
    throw new Failure('file.exists', `${quote(basename(path))} is there already`, {}, 'use `--force` to replace it')
  }
}

const importDeps = (ambit: Ambit, caller: Caller): UpstreamDeps => {
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
    : bytesOf({ path: resolve(folder, place), name: place }, 'upstream.invalid')
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

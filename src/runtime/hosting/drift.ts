import { acceptDrift, type Change, changeOf, type Looked } from '../../adapters/mcp/accept.ts'
import { discoverTools } from '../../adapters/mcp/discover.ts'
import { type Drift, driftOf } from '../../adapters/mcp/tool-drift.ts'
import { Failure, problem, quote } from '../../base/failure.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { type Caller, demand } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { keepUpstream } from './import-upstream.ts'
import { type Listed, listed, upstreamDeps } from './upstreams.ts'

/** What became of the tools of one MCP server since they were accepted, or why that is unknown. */
export interface DriftReport extends Partial<Omit<Drift, 'changed'>> {
  /** Null for a file that cannot be read as an upstream. */
  readonly upstream: string | null
  readonly file: string | null
  readonly changed?: readonly Change[]
  readonly problem?: string
}

/** Asks every MCP server of the configuration, or the one of this name, what its tools are now. */
export async function findDrift(ambit: Runtime, caller: Caller, name?: string): Promise<readonly DriftReport[]> {
  demand(caller, 'administer')
  const { servers, broken } = mcpServers(ambit, (each) => name === undefined || each.upstream.name === name)
  if (name !== undefined && servers.length === 0) throw notListed(ambit, name)
  const asked = await Promise.all(
    servers.map(async ({ upstream, file }): Promise<DriftReport> => {
      const of = { upstream: upstream.name, file: file?.name ?? null }
      try {
        const { tools } = await toolsOf(ambit, caller, upstream)
        const drift = driftOf(upstream, tools)
        return { ...of, ...drift, changed: drift.changed.map((tool) => changeOf(upstream, tools, tool)) }
      } catch (error) {
        return { ...of, problem: problem(error).detail }
      }
    }),
  )
  return name === undefined ? [...asked, ...broken] : asked
}

/** Writes the reviewed definitions of these tools into the file of their server, and returns their new versions. */
export async function acceptTools(ambit: Runtime, caller: Caller, name: string, tools: readonly string[]) {
  demand(caller, 'administer')
  const [found] = mcpServers(ambit, ({ upstream }) => upstream.name === name).servers
  if (found?.file === undefined) throw notListed(ambit, name)
  const looked = tools.map(lookedOf)
  const { upstream, file } = found
  const { tools: now } = await toolsOf(ambit, caller, upstream)
  const changed = driftOf(upstream, now).changed
  const accepted = acceptDrift(upstream, now, looked)
  const which = accepted.capabilities
    .filter(({ tool }) => changed.includes(tool) && looked.some((one) => one.tool === tool))
    .map(({ tool, descriptor }) => ({ tool, version: descriptor.version }))
  if (which.length > 0) keepUpstream(file.path, accepted, { replace: true })
  return which
}

/** A tool and the digest of what was looked at, as `tool@digest`. */
function lookedOf(text: string): Looked {
  const [, tool = '', definition = ''] = /^(.+)@(sha256:[0-9a-f]{64})$/su.exec(text) ?? []
  if (tool !== '') return { tool, definition }
  const help = 'look at it with `ambit capabilities drift`, which says what to write'
  throw new Failure('field.invalid', `${quote(text)} does not name the digest of what is accepted`, {}, help)
}

const toolsOf = (ambit: Runtime, { tenant }: Caller, upstream: McpUpstream) =>
  discoverTools(
    upstream,
    upstreamDeps(ambit, tenant, ambit.settings.hosting, () => undefined),
  )

type Server = Listed & { readonly upstream: McpUpstream }

/** The MCP servers that are meant, and the files that cannot be read as an upstream: they do not hide the others. */
function mcpServers({ settings: { hosting } }: Runtime, isMeant: (server: Server) => boolean = () => true) {
  const broken: DriftReport[] = []
  const all = [...listed(hosting, (problem, file) => broken.push({ upstream: null, file: file.name, problem }))]
  const isServer = (one: Listed): one is Server => one.upstream.adapter === 'mcp'
  return { servers: all.filter(isServer).filter(isMeant), broken }
}

function notListed(ambit: Runtime, name: string): Failure {
  const { servers, broken } = mcpServers(ambit)
  const known = servers.map(({ upstream }) => quote(upstream.name)).join(', ')
  const parts = [known && `there are ${known}`, ...broken.map(({ problem }) => `a file cannot be used: ${problem}`)]
  const help = parts.filter(Boolean).join('; ') || 'see `upstreams` in the configuration'
  const message = `no file of the configuration describes the MCP server ${quote(name)}`
  return new Failure('capability.not_found', message, { name }, help)
}

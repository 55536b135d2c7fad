import { acceptDrift, type Change, changeOf, type Looked } from '../../adapters/mcp/accept.ts'
import { type Drift, driftOf } from '../../adapters/mcp/definition.ts'
import { discoverTools } from '../../adapters/mcp/discover.ts'
import { Failure, problem, quote } from '../../base/failure.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { type Caller, demand } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { keepUpstream } from './import-upstream.ts'
import { type Listed, listed, upstreamDeps } from './upstreams.ts'

/** What became of the tools of one MCP server since they were accepted, or why nobody knows. */
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
  const { servers, broken } = mcpUpstreams(ambit)
  const meant = servers.filter(({ upstream }) => name === undefined || upstream.name === name)
  if (name !== undefined && meant.length === 0) throw notListed(ambit, name)
  const asked = await Promise.all(
    meant.map(async ({ upstream, file }): Promise<DriftReport> => {
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

/** An MCP server, and the file of the configuration that describes it. */
export type FiledServer = Required<Pick<Server, 'upstream' | 'file'>>

/** The server of this name; fails if no file describes one. */
export function filedServer(ambit: Runtime, name: string): FiledServer {
  const found = mcpUpstreams(ambit).servers.find(({ upstream }) => upstream.name === name)
  if (found?.file === undefined) throw notListed(ambit, name)
  return { upstream: found.upstream, file: found.file }
}

export interface Accepted {
  readonly tool: string
  /** The version of its capability from now on. */
  readonly version: string
}

/** Takes the definition of these tools that somebody has looked at into the file of their server. */
export async function acceptTools(
  ambit: Runtime,
  caller: Caller,
  { upstream, file }: FiledServer,
  looked: readonly Looked[],
): Promise<readonly Accepted[]> {
  demand(caller, 'administer')
  const { tools } = await toolsOf(ambit, caller, upstream)
  const changed = driftOf(upstream, tools).changed
  const accepted = acceptDrift(upstream, tools, looked)
  const which = accepted.capabilities
    .filter(({ tool }) => changed.includes(tool) && looked.some((one) => one.tool === tool))
    .map(({ tool, descriptor }) => ({ tool, version: descriptor.version }))
  if (which.length > 0) keepUpstream(file.path, accepted, { replace: true })
  return which
}

const toolsOf = (ambit: Runtime, { tenant }: Caller, upstream: McpUpstream) =>
  discoverTools(
    upstream,
    upstreamDeps(ambit, tenant, ambit.settings.hosting, () => undefined),
  )

/** The MCP servers that are listed, and the files that cannot be read as an upstream, which keep nobody from the others. */
function mcpUpstreams({ settings: { hosting } }: Runtime) {
  const broken: DriftReport[] = []
  const all = [...listed(hosting, (problem, file) => broken.push({ upstream: null, file: file.name, problem }))]
  return { servers: all.filter(isServer), broken }
}

type Server = Listed & { readonly upstream: McpUpstream }
const isServer = (one: Listed): one is Server => one.upstream.adapter === 'mcp'

function notListed(ambit: Runtime, name: string): Failure {
  const { servers, broken } = mcpUpstreams(ambit)
  const known = servers.map(({ upstream }) => quote(upstream.name))
  const help = [
    ...(known.length > 0 ? [`there are ${known.join(', ')}`] : []),
    ...broken.map(({ problem }) => `a file cannot be used: ${problem}`),
  ]
  const message = `no file of the configuration describes the MCP server ${quote(name)}`
  return new Failure(
    'capability.not_found',
    message,
    { name },
    help.join('; ') || 'see `upstreams` in the configuration',
  )
}

import { advised, Failure, problem, quote } from '../base/failure.ts'
import { defined } from '../base/object.ts'
import { acceptDrift, type Looked } from '../gateway/adapters/mcp/accept.ts'
import { type Change, changeOf } from '../gateway/adapters/mcp/changes.ts'
import { type Drift, driftOf } from '../gateway/adapters/mcp/definition.ts'
import { discoverTools } from '../gateway/adapters/mcp/discover.ts'
import type { McpUpstream, Upstream } from '../model/upstream.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand } from './caller.ts'
import { keepUpstream } from './import-upstream.ts'
import type { NamedFile } from './named-file.ts'
import { filesOf, readUpstream } from './upstream-files.ts'
import { upstreamDeps } from './upstreams.ts'

/** What became of the tools of one MCP server since they were accepted, or why nobody knows. */
export interface DriftReport extends Partial<Omit<Drift, 'changed'>> {
  /** Null for a file that cannot be read as an upstream. */
  readonly upstream: string | null
  readonly file: string | null
  readonly changed?: readonly Change[]
  readonly problem?: string
}

/** Asks every MCP server of the configuration, or the one of this name, what its tools are now. */
export async function findDrift(ambit: Ambit, caller: Caller, name?: string): Promise<readonly DriftReport[]> {
  demand(caller, 'administer')
  const { servers, broken } = mcpUpstreams(ambit)
  const listed = servers.filter(({ upstream }) => name === undefined || upstream.name === name)
  if (name !== undefined && listed.length === 0) throw notListed(ambit, name)
  const asked = await Promise.all(
    listed.map(async ({ upstream, file }): Promise<DriftReport> => {
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
export type FiledServer = Required<Listed>

/** The server of this name; fails if no file describes one. */
export function filedServer(ambit: Ambit, name: string): FiledServer {
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
  ambit: Ambit,
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

const toolsOf = (ambit: Ambit, { tenant }: Caller, upstream: McpUpstream) =>
  discoverTools(
    upstream,
    upstreamDeps(ambit, tenant, ambit.settings.hosting, () => undefined),
  )

interface Listed {
  readonly upstream: McpUpstream
  readonly file?: NamedFile
}

/** The MCP servers that are listed, and the files that cannot be read as an upstream, which keep nobody from the others. */
function mcpUpstreams({ settings: { hosting } }: Ambit): {
  servers: readonly Listed[]
  broken: readonly DriftReport[]
} {
  const servers: Listed[] = []
  const broken: DriftReport[] = []
  const list = (upstream: Upstream, file?: NamedFile) => {
    if (upstream.adapter === 'mcp') servers.push({ upstream, ...defined({ file }) })
  }
  for (const each of hosting.upstreams) {
    if (!('path' in each)) list(each)
    else
      for (const file of filesOf(each)) {
        try {
          list(readUpstream(file), file)
        } catch (error) {
          broken.push({ upstream: null, file: file.name, problem: advised(error) })
        }
      }
  }
  return { servers, broken }
}

function notListed(ambit: Ambit, name: string): Failure {
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

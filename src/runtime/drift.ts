import { Failure, problem, quote } from '../base/failure.ts'
import { acceptDrift, type Looked } from '../gateway/adapters/mcp/accept.ts'
import { type Change, changeOf } from '../gateway/adapters/mcp/changes.ts'
import { type Drift, driftOf } from '../gateway/adapters/mcp/definition.ts'
import { discoverTools } from '../gateway/adapters/mcp/discover.ts'
import type { McpUpstream } from '../model/upstream.ts'
import type { Ambit } from './ambit.ts'
import { type Caller, demand } from './caller.ts'
import { keepUpstream } from './import-upstream.ts'
import type { NamedFile } from './named-file.ts'
import { filesOf, readUpstream } from './upstream-files.ts'
import { upstreamDeps } from './upstreams.ts'

/** What became of the tools of one MCP server since they were accepted, or why nobody knows. */
export interface DriftReport extends Partial<Omit<Drift, 'changed'>> {
  readonly upstream: string
  readonly file: string | null
  readonly changed?: readonly Change[]
  readonly problem?: string
}

/** Asks every MCP server of the configuration, or the one of this name, what its tools are now. */
export async function findDrift(ambit: Ambit, caller: Caller, name?: string): Promise<readonly DriftReport[]> {
  demand(caller, 'administer')
  const listed = mcpUpstreams(ambit).filter(({ upstream }) => name === undefined || upstream.name === name)
  if (name !== undefined && listed.length === 0) throw notListed(ambit, name)
  return Promise.all(
    listed.map(async ({ upstream, file }) => {
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
}

/** An MCP server, and the file of the configuration that describes it. */
export type FiledServer = Required<Listed>

/** The server of this name; fails if no file describes one. */
export function filedServer(ambit: Ambit, name: string): FiledServer {
  const found = mcpUpstreams(ambit).find(({ upstream }) => upstream.name === name)
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

const mcpUpstreams = ({ settings: { hosting } }: Ambit): readonly Listed[] =>
  hosting.upstreams
    .flatMap((each) =>
      'path' in each ? filesOf(each).map((file) => ({ upstream: readUpstream(file), file })) : [{ upstream: each }],
    )
    .filter((each): each is Listed => each.upstream.adapter === 'mcp')

function notListed(ambit: Ambit, name: string): Failure {
  const known = mcpUpstreams(ambit).map(({ upstream }) => quote(upstream.name))
  const help = known.length === 0 ? 'see `upstreams` in the configuration' : `there are ${known.join(', ')}`
  const message = `no file of the configuration describes the MCP server ${quote(name)}`
  return new Failure('capability.not_found', message, { name }, help)
}

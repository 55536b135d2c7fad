import { isTextOnly, type UpstreamDeps } from '../../adapters/adapter.ts'
import { type Drift, driftOf } from '../../adapters/mcp/definition.ts'
import { discoverTools } from '../../adapters/mcp/discover.ts'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import { unreachable } from '../hosting/import-upstream.ts'
import { listed, upstreamDeps } from '../hosting/upstreams.ts'
import type { Runtime } from '../runtime.ts'
import { attempt, type Finding, ok, warn } from './finding.ts'

/** Whether every upstream answers now: an MCP server lists its tools, an API answers a request without content. */
export async function* checkUpstreams(ambit: Runtime): AsyncGenerator<Finding> {
  const { hosting, tenant } = ambit.settings
  const deps = upstreamDeps(ambit, tenant, hosting, () => undefined)
  const asked = [...listed(hosting, () => undefined)].map(async ({ upstream }) => {
    const found = await attempt('upstreams', () => ask(upstream, deps))
    const name = quote(upstream.name)
    if ('verdict' in found) return { ...found, check: 'upstreams', message: `${name}: ${found.message}` }
    const held = [...found.changed, ...found.gone].map(quote).join(', ')
    const look = `look with \`ambit capabilities drift ${upstream.name}\``
    if (held !== '') return warn('upstreams', `${name} answers; gone, or not what was accepted: ${held}`, look)
    const structure = '; what it says as `structuredContent` is passed on, and stands in no fence'
    return ok('upstreams', `${name} answers${isTextOnly(upstream) ? '' : structure}`)
  })
  for (const finding of asked) yield await finding
}

async function ask(upstream: Upstream, deps: UpstreamDeps): Promise<Omit<Drift, 'added'>> {
  if (upstream.adapter === 'mcp') return driftOf(upstream, (await discoverTools(upstream, deps)).tools)
  const { url } = upstream.server
  const init = { method: 'HEAD', signal: AbortSignal.timeout(limits.mcpConnectMs) }
  const { status } = await deps.egress.fetch(url, init).catch((error) => Promise.reject(unreachable(url, error)))
  if (status >= 500) throw new Failure('host.unreachable', `it answers with the status ${status}`)
  return { changed: [], gone: [] }
}

import { canonical, type Json } from '../base/canonical.ts'
import type { Upstream } from '../model/config/upstream.ts'
import { higherRisk } from '../policy/risk.ts'
import { renewContext } from './mcp/context.ts'

type Descriptor = Upstream['capabilities'][number]['descriptor']

type Refresh<Capability> = (old: Capability, now: Capability) => Capability

/** What stands in the file of an upstream, with what has just been imported: only `refresh` changes what was there. */
export function mergeUpstream<T extends Upstream>(before: T, now: T, refresh: Refresh<T['capabilities'][number]>): T {
  const imported = new Map(now.capabilities.map((one) => [keyOf(one), one]))
  const merged = before.capabilities.map((old) => {
    const one = imported.get(keyOf(old))
    imported.delete(keyOf(old))
    return one === undefined ? old : refresh(old, one)
  })
  return { ...before, ...now, capabilities: [...merged, ...imported.values()] }
}

/** A tool by its name, an operation by its request: people may give either another id. */
const keyOf = (one: Upstream['capabilities'][number]): string =>
  'tool' in one ? one.tool : `${one.request.method} ${one.request.path}`

/** What is offered from now on, with a new patch version. What people wrote stays; risk may rise, effects may be added. */
export function renewDescriptor(old: Descriptor, now: Omit<Descriptor, 'id' | 'version'>): Descriptor {
  const { name: _, output_schema: __, ...kept } = old
  const effects = [...new Set([...(old.side_effects ?? []), ...(now.side_effects ?? [])])]
  const [major, minor, patch] = old.version.split(/[-+]/)[0]?.split('.').map(Number) ?? []
  const context = renewContext(old.metadata?.context, now.metadata?.context)
  const next = {
    ...kept,
    description: now.description,
    ...(now.name !== undefined && { name: now.name }),
    ...(now.input_schema && { input_schema: now.input_schema }),
    ...(now.output_schema && { output_schema: now.output_schema }),
    ...(effects.length > 0 && { side_effects: effects }),
    ...(context && { metadata: { ...old.metadata, context } }),
    risk: higherRisk(old.risk ?? 'medium', now.risk),
  }
  const isSame = canonical(next as Json) === canonical(old as Json)
  return isSame ? old : { ...next, version: `${major}.${minor}.${(patch ?? 0) + 1}` }
}

/** The server as given, with what its file adds: headers stay with their address, an environment with its command. */
export function mergeServer<T extends Upstream['server']>(before: T, now: T): T {
  const [old, given] = [before, now] as { readonly [member: string]: unknown }[]
  if (old?.['url'] !== given?.['url'] || old?.['command'] !== given?.['command']) return now
  const members = ['headers', 'query', 'env'].filter((member) => old?.[member] !== undefined)
  const joined = members.map((member) => [member, Object.assign({}, old?.[member], given?.[member])])
  return { ...before, ...now, ...Object.fromEntries(joined) }
}

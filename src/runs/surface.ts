import { Failure, quote } from '../base/failure.ts'
import { lowerTo } from '../grants/branches.ts'
import { type Ceiling, type Ceilings, ceilingsBelow, effectiveMode, type ResourceMode } from '../grants/ceilings.ts'
import type { RunSurface } from '../model/run.ts'
import { deepFreeze } from '../policy/contract.ts'
import { namedTools, type ProviderFacts, type Providers, providerOf } from './agents.ts'
import type { AgentDefinition, DeclaredResource } from './definition.ts'
import { plainName, resourceToolId, resourceToolName } from './names.ts'

type HiddenReason = RunSurface['hidden'][number]['reason']

export interface RunTool {
  /** As the model knows it. */
  readonly name: string
  readonly capabilityId: string
  /** Why it is not on the surface; undefined if it is. */
  readonly hidden: HiddenReason | undefined
}

export interface RunResource extends DeclaredResource {
  readonly effective: Ceiling
  /** Whether the inherited ceiling is what makes the effective mode so low. */
  readonly isCeiling: boolean
  /** The granted paths, lowered to its branches. */
  readonly paths: readonly string[]
  readonly tools: readonly (RunTool & { readonly tool: string; readonly needs: ResourceMode })[]
}

/** What one run may call, and what it hands on. */
export interface RunAuthority {
  readonly resources: readonly RunResource[]
  /** All tools of the agent, the hidden ones among them. */
  readonly tools: readonly RunTool[]
  readonly surface: RunSurface
  readonly modes: Readonly<Record<string, Ceiling>>
  readonly ceilingsBelow: Ceilings
}

/**
 * Resolves what an agent declares against what its run holds: its inherited ceilings and its live grants. A resource that
 * is `required` and has no grant fails the run.
 */
export function resolveSurface(facts: {
  readonly agent: AgentDefinition
  readonly ceilings: Ceilings
  readonly grants: readonly { readonly path: string }[]
  readonly providers: Providers
  /** Whether a capability can be called, an agent (`agent.<id>`) among them. */
  readonly isRegistered: (capabilityId: string) => boolean
}): RunAuthority {
  const { agent, ceilings, grants, providers, isRegistered } = facts
  const paths = grants.map(({ path }) => path)
  const resources = (agent.kind === 'llm' ? agent.resources : []).map((declared) =>
    resolveResource(declared, providerOf(agent.manifest.id, declared, providers), ceilings, paths),
  )
  const named = namedTools(agent).map((id) => ({
    name: plainName(id),
    capabilityId: id,
    hidden: isRegistered(id) ? undefined : ('not_registered' as const),
  }))
  const tools = [...named, ...resources.flatMap((resource) => resource.tools)]
  return deepFreeze({
    resources,
    tools,
    surface: {
      tools: tools.filter(({ hidden }) => hidden === undefined).map(({ name }) => name),
      hidden: tools.flatMap(({ name, hidden }) => (hidden === undefined ? [] : { tool: name, reason: hidden })),
    },
    modes: Object.fromEntries(resources.map(({ name, effective }) => [name, effective])),
    ceilingsBelow: ceilingsBelow(
      ceilings,
      resources.map(({ kind, effective, delegate = effective }) => ({ kind, mode: effective, delegate })),
    ),
  })
}

function resolveResource(
  declared: DeclaredResource,
  provider: ProviderFacts,
  ceilings: Ceilings,
  granted: readonly string[],
): RunResource {
  const { name, kind, mode, branches, required } = declared
  const facts = { kind, provider, ...(mode && { declared: mode }) }
  const effective = effectiveMode({ ...facts, ceilings })
  const isCeiling = effective !== effectiveMode({ ...facts, ceilings: {} })
  const paths = branches === undefined ? [...new Set(granted)] : lowerTo(branches, granted)
  const data = { resource: name, kind }
  if (required && effective === 'none')
    throw new Failure('resource.ceiling', `resource ${quote(name)} is not delegated to this run`, data)
  if (required && paths.length === 0) throw new Failure('grant.missing', `resource ${quote(name)} needs a grant`, data)
  const found = { ...declared, effective, isCeiling, paths }
  const tools = Object.entries(provider.tools).map(([tool, { mode: needs = 'read' }]) => ({
    name: resourceToolName(name, tool),
    capabilityId: resourceToolId(name, tool),
    tool,
    needs,
    hidden: hiddenBy(found, tool, needs),
  }))
  return { ...found, tools }
}

/** The first reason that there is. */
function hiddenBy(
  { effective, isCeiling, paths, expose }: Omit<RunResource, 'tools'>,
  tool: string,
  needs: ResourceMode,
): HiddenReason | undefined {
  if (effective === 'none') return 'resource_ceiling'
  if (needs === 'read-write' && effective === 'read') return isCeiling ? 'resource_ceiling' : 'resource_read_only'
  if (paths.length === 0) return 'grant_missing'
  return expose === undefined || expose.includes(tool) ? undefined : 'not_exposed'
}

import { Failure, quote } from '../base/failure.ts'
import { lowerTo } from '../grants/branches.ts'
import { type Ceiling, type Ceilings, ceilingsBelow, effectiveMode } from '../grants/ceilings.ts'
import type { RunRecord, RunSurface } from '../model/run.ts'
import { deepFreeze } from '../policy/contract.ts'
import { type DeclaredTool, declaredTools, type ProviderFacts, type Providers, providerOf } from './agents.ts'
import { type AgentDefinition, type DeclaredResource, resourcesOf } from './definition.ts'

type HiddenReason = RunSurface['hidden'][number]['reason']

/** A tool of the agent, as one run has it. */
export interface RunTool extends DeclaredTool {
  readonly resource?: RunResource
  /** Why it is not on the surface; undefined if it is. */
  readonly hidden: HiddenReason | undefined
}

export interface RunResource extends DeclaredResource {
  readonly effective: Ceiling
  /** Whether the inherited ceiling is what makes the effective mode so low. */
  readonly isCeiling: boolean
  /** The granted paths, lowered to its branches. */
  readonly paths: readonly string[]
}

/** What one run may call, and what it hands on. */
export interface RunAuthority {
  readonly resources: readonly RunResource[]
  /** All tools of the agent, the hidden ones among them. */
  readonly tools: readonly RunTool[]
  readonly surface: RunSurface
  readonly modes: RunRecord['modes']
  readonly ceilingsBelow: Ceilings
}

/** Resolves what an agent declares against what its run holds: its inherited ceilings and its grants. */
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
  const resources = resourcesOf(agent).map((declared) =>
    resolveResource(declared, providerOf(agent.manifest.id, declared, providers), ceilings, paths),
  )
  const byName = new Map(resources.map((resource) => [resource.name, resource]))
  const tools = declaredTools(agent, providers).map((tool): RunTool => {
    const { resource: declared, ...rest } = tool
    const resource = declared && byName.get(declared.name)
    if (resource !== undefined) return { ...rest, resource, hidden: hiddenBy(resource, tool) }
    return { ...rest, hidden: isRegistered(tool.capabilityId) ? undefined : 'not_registered' }
  })
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
  const { kind, mode, branches } = declared
  const facts = { kind, provider, ...(mode && { declared: mode }) }
  const effective = effectiveMode({ ...facts, ceilings })
  const isCeiling = effective !== effectiveMode({ ...facts, ceilings: {} })
  const paths = branches === undefined ? [...new Set(granted)] : lowerTo(branches, granted)
  return { ...declared, effective, isCeiling, paths }
}

/** Fails where a resource that is required was not delegated to a run, or has none of these paths. */
export function demandRequired(
  { name, kind, required, effective }: Omit<RunResource, 'paths'>,
  paths: readonly string[],
): void {
  const data = { resource: name, kind }
  if (required && effective === 'none')
    throw new Failure('resource.ceiling', `resource ${quote(name)} is not delegated to this run`, data)
  if (required && paths.length === 0) throw new Failure('grant.missing', `resource ${quote(name)} needs a grant`, data)
}

/** The first reason that there is. */
function hiddenBy(
  { effective, isCeiling, paths, expose }: RunResource,
  { tool, needs }: DeclaredTool,
): HiddenReason | undefined {
  if (effective === 'none') return 'resource_ceiling'
  if (needs === 'read-write' && effective === 'read') return isCeiling ? 'resource_ceiling' : 'resource_read_only'
  if (paths.length === 0) return 'grant_missing'
  return expose === undefined || expose.includes(tool) ? undefined : 'not_exposed'
}

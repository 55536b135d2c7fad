import { byUnit, type Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { covers } from '../grants/cover.ts'
import type { CapabilityTier, CompiledContext, HiddenReason } from '../model/contract/compiled.ts'
import { type Tier, tiers } from '../model/contract/context.ts'
import type { PackAdapter, PackCapability, PackPermission } from '../model/contract/pack.ts'
import type { Facts } from '../policy/conditions/values.ts'
import type { CompileScope, OfferedCapability } from './facts.ts'
import type { MergedPacks } from './merge.ts'
import { type BundleRule, type Controls, type PackPolicy, rankOf, ruleOn } from './rules.ts'

/** A capability of the run, as packs and host describe it. */
export interface SurfacedCapability {
  readonly id: string
  readonly adapter: PackAdapter
  readonly tier: CapabilityTier
  readonly offered: OfferedCapability
  readonly permissions: readonly PackPermission[]
}

export interface Surfaced {
  readonly tools: readonly SurfacedCapability[]
  readonly hidden: CompiledContext['context_ledger']['ambit']['hidden']
  /** Every rule that had a say about one of them. */
  readonly said: readonly BundleRule[]
}

interface SurfaceFacts {
  readonly packs: MergedPacks
  readonly policy: PackPolicy
  readonly context: CompileScope
  readonly offered: readonly OfferedCapability[]
  readonly controls: Controls
  readonly facts: Facts
}

/** What the run may call, and for everything else the first reason why not. */
export function surfaceTools(given: SurfaceFacts): Surfaced {
  const offered = new Map(given.offered.map((each) => [each.capability_id, each]))
  const registered = given.packs.adapters.flatMap((adapter) =>
    adapter.capabilities.map((entry) => entryOf(adapter, entry, offered, given)),
  )
  const known = new Set(registered.map(({ id }) => id))
  const judged = registered.map((entry) => ({ entry, ...judge(entry, given) }))
  const others = given.offered.filter(({ capability_id }) => !known.has(capability_id))
  return {
    tools: judged.flatMap(({ entry, hidden }) => (hidden === undefined ? [entry] : [])),
    hidden: [
      ...judged.flatMap(({ entry, hidden }) => (hidden ? [{ capability_id: entry.id, reason: hidden }] : [])),
      ...others.map(({ capability_id }) => ({ capability_id, reason: 'not_registered' as const })),
    ].sort((a, b) => byUnit(a.capability_id, b.capability_id)),
    said: given.policy.rules.filter((rule) => judged.some(({ said }) => said.includes(rule))),
  }
}

/** A capability whose id has no dot is an adapter of its own. */
const capabilityIdOf = (adapter: string, name: string): string => (name === '' ? adapter : `${adapter}.${name}`)

interface Entry extends SurfacedCapability {
  readonly spec: PackCapability | undefined
}

function entryOf(
  adapter: PackAdapter,
  entry: PackAdapter['capabilities'][number],
  offered: ReadonlyMap<string, OfferedCapability>,
  given: SurfaceFacts,
): Entry {
  const spec = typeof entry === 'string' ? undefined : entry
  const name = typeof entry === 'string' ? entry : entry.name
  const id = capabilityIdOf(adapter.adapter_id, name)
  const found = offered.get(id)
  if (found === undefined)
    throw new Failure('pack.binding_unresolved', `capability ${quote(id)} is not offered here`, { capability_id: id })
  const permissions = permissionsFor(adapter.adapter_id, name, given)
  return { id, adapter, spec, offered: found, tier: tierOf(adapter, spec, found.tier), permissions }
}

/** A pack narrows: what the host knows of a capability it can raise, and never lower. */
function tierOf(
  { approval_mode }: PackAdapter,
  spec: PackCapability | undefined,
  host: CapabilityTier,
): CapabilityTier {
  const mode = spec?.approval_mode ?? approval_mode
  const raised = rankOf(mode) > rankOf(host.approval_mode) ? mode : host.approval_mode
  if (spec === undefined) return { ...host, approval_mode: raised, source: 'adapter_registry' }
  const risks = ['read', 'write_reversible', 'write_irreversible'] as const
  const risk_level = risks.indexOf(spec.risk_level) > risks.indexOf(host.risk_level) ? spec.risk_level : host.risk_level
  const kind = spec.kind === 'write' ? 'write' : host.kind
  return { kind, risk_level, approval_mode: raised, source: 'adapter_registry' }
}

const floors = { read: 'read_only', write_reversible: 'local_write', write_irreversible: 'delegated' } as const

/** Between the floor of its risk and the highest that the registry declares. */
function effectiveMode(mode: Tier | undefined, { approval_mode, risk_level }: CapabilityTier): Tier {
  const asked = Math.min(rankOf(mode ?? approval_mode), rankOf(approval_mode))
  return tiers[Math.max(asked, rankOf(floors[risk_level]))] as Tier
}

function judge(
  entry: Entry,
  given: SurfaceFacts,
): { readonly hidden?: HiddenReason; readonly said: readonly BundleRule[] } {
  const { offered, tier, id } = entry
  if (!offered.available) return { hidden: 'adapter_unavailable', said: [] }
  if (!isPermitted(entry.permissions)) return { hidden: 'no_permission', said: [] }
  if (offered.hidden !== undefined) return { hidden: offered.hidden, said: [] }
  if (!isGranted(entry, given)) return { hidden: 'grant_missing', said: [] }
  const { prohibited, allowed, mode, said } = ruleOn(given.policy, { id, ...tier }, given.facts)
  const effective = effectiveMode(mode, tier)
  if (prohibited) return { hidden: 'prohibited', said }
  if (!allowed && effective !== 'read_only') return { hidden: 'no_allow_rule', said }
  const { claim_state } = given.context.metadata.ambit
  if (claim_state === 'unverified' && tier.kind === 'write') return { hidden: 'claim_unverified', said }
  if (isAbove(entry, effective, given)) return { hidden: 'above_safety_mode', said }
  return { said }
}

/** All permissions that fit the role apply: one that forbids, forbids. */
const isPermitted = (fitting: readonly PackPermission[]): boolean =>
  fitting.length > 0 && fitting.every(({ allow }) => allow)

function permissionsFor(adapter: string, name: string, { packs, context }: SurfaceFacts): readonly PackPermission[] {
  const isOf = (role: string | undefined): boolean =>
    role === undefined || role === context.agent.role || role === context.user.role
  return packs.permissions.filter((each) => each.adapter_id === adapter && each.capability === name && isOf(each.role))
}

const isGranted = ({ spec }: Entry, { context }: SurfaceFacts): boolean =>
  (spec?.grants ?? []).every((path) => context.metadata.ambit.grants.some((grant) => covers(grant.path, path)))

function isAbove({ id, tier }: Entry, effective: Tier, { context, packs, controls }: SurfaceFacts): boolean {
  const { safety_mode, metadata } = context
  if (rankOf(effective) <= rankOf(safety_mode)) return false
  if (metadata.ambit.safety_strict || safety_mode === 'read_only') return true
  const active = packs.gates.filter(({ gate_id }) => controls.approval_gates_active.includes(gate_id))
  return !active.some(({ capabilities }) => (capabilities ? capabilities.includes(id) : tier.kind === 'write'))
}

/** The tools as the manifest lists them, by adapter. */
export function toolManifest(tools: readonly SurfacedCapability[]): CompiledContext['manifests']['tool_manifest'] {
  const byAdapter = Map.groupBy(tools, ({ adapter }) => adapter.adapter_id)
  return [...byAdapter]
    .sort(([a], [b]) => byUnit(a, b))
    .map(([adapter_id, all]) => {
      const nameOf = ({ id }: SurfacedCapability): string => id.slice(adapter_id.length + 1)
      const sorted = all.toSorted((a, b) => byUnit(a.id, b.id))
      const limited = sorted.flatMap((each) => {
        const bounds = each.permissions.flatMap(({ arg_constraints }) => arg_constraints ?? [])
        return bounds.length > 0 ? [[nameOf(each), bounds as unknown as Json] as const] : []
      })
      return {
        adapter_id,
        capabilities: sorted.map(nameOf),
        ...(limited.length > 0 && { constraints: Object.fromEntries(limited) }),
        capability_metadata: Object.fromEntries(sorted.map((each) => [nameOf(each), each.tier])),
      }
    })
}

/** The capabilities that a compile has surfaced, with their tiers. */
export const tiersIn = ({
  manifests,
}: Pick<CompiledContext, 'manifests'>): readonly Pick<SurfacedCapability, 'id' | 'tier'>[] =>
  manifests.tool_manifest.flatMap(({ adapter_id, capability_metadata = {} }) =>
    Object.entries(capability_metadata).map(([name, tier]) => ({ id: capabilityIdOf(adapter_id, name), tier })),
  )

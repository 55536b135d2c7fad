import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import type { JsonObject } from '../../base/object.ts'
import { type BundleRule, rankOf, ruleOn } from '../../compile/rules.ts'
import type { CapabilityTier } from '../../model/contract/compiled.ts'
import { type Tier, tiers } from '../../model/contract/context.ts'
import type { ApprovalGate } from '../../model/contract/pack.ts'
import type { Facts } from '../../policy/conditions/values.ts'
import { evidenceRoot } from './evidence.ts'
import { type Loop, type LoopFacts, rootsIn, tierIn } from './facts.ts'

/** What the rules of the packs say of one call. */
export interface Ruling {
  readonly allowed: boolean
  /** `allowed`, or the code of the refusal. */
  readonly reason: 'allowed' | 'policy_denied' | 'policy_eval_error'
  readonly effective: Tier
  readonly highest: Tier
  /** Evidence that matched rules require. */
  readonly requires: readonly string[]
  readonly gates: readonly ApprovalGate[]
  /** As `bundle#rule`, by priority. */
  readonly matched: readonly string[]
  readonly undecided: readonly string[]
  /** Decisions that matched rules are bound to. */
  readonly bindings: readonly string[]
}

export interface RuledCall {
  readonly capability_id: string
  readonly args: JsonObject
}

/**
 * Asks the rules about a call. Before the call (`isFinal`) what is still undecided allows nothing and denies; at verify
 * it stays open. Undefined for a capability that does not exist for the run.
 */
export function ruleCall({ capability_id: id, args }: RuledCall, loop: Loop, isFinal: boolean): Ruling | undefined {
  const tier = tierIn(loop, id)
  if (tier === undefined) return undefined
  const read = callRoots(args, loop)
  const { policy } = loop.packs
  try {
    const { prohibited, allowed, mode, said } = ruleOn(policy, { id, ...tier }, read)
    const holds = ({ condition }: BundleRule): boolean =>
      condition.evaluate({ ...read, capability: { id, ...tier } as Json }) === true
    const matched = said.filter(holds)
    const undecided = said.filter((rule) => !holds(rule))
    const effective = bounded(isFinal ? highestNamed(matched) : mode, tier)
    const counted = isFinal ? matched.some(({ body }) => body.then.allow) : allowed
    const denied = prohibited || (isFinal && undecided.some(({ body }) => !body.then.allow))
    const isAllowed = !denied && (counted || effective === 'read_only')
    return {
      ...{ allowed: isAllowed, reason: isAllowed ? 'allowed' : 'policy_denied', effective },
      highest: tier.approval_mode,
      requires: [...new Set(matched.flatMap(({ body }) => body.then.requires ?? []))],
      gates: gatesFor(id, matched, read, loop),
      ...{ matched: matched.map(nameOf), undecided: undecided.map(nameOf) },
      bindings: matched.flatMap(({ body }) => body.decision_binding?.replace(/^decision\./, '') ?? []),
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const mode = tier.approval_mode
    const nothing = { requires: [], gates: [], matched: [], undecided: [], bindings: [] }
    return { allowed: false, reason: 'policy_eval_error', effective: mode, highest: mode, ...nothing }
  }
}

const nameOf = ({ bundle, rule }: BundleRule): string => `${bundle}#${rule}`

/** What rules read of a call. */
export function callRoots(args: JsonObject, loop: Loop): Facts {
  const calls = loop.progress.plans.flatMap((plan) => plan.calls)
  const history = calls.map(({ capability_id, step, answer: { status } = { status: null } }) => ({
    capability_id,
    step,
    status,
  }))
  return { ...rootsIn(loop), args, evidence: evidenceRoot(loop), history }
}

const highestNamed = (rules: readonly BundleRule[]): Tier | undefined =>
  tiers.findLast((tier) => rules.some(({ body }) => body.then.approval_mode === tier))

const floors = { read: 'read_only', write_reversible: 'local_write', write_irreversible: 'delegated' } as const

/** Between the floor of the risk and the highest that the registry declares. */
function bounded(mode: Tier | undefined, { approval_mode, risk_level }: CapabilityTier): Tier {
  const asked = Math.min(rankOf(mode ?? approval_mode), rankOf(approval_mode))
  return tiers[Math.max(asked, rankOf(floors[risk_level]))] as Tier
}

/** Gates whose condition holds or is not decided yet, and those that a matched rule names. */
function gatesFor(id: string, matched: readonly BundleRule[], read: Facts, loop: LoopFacts): readonly ApprovalGate[] {
  const named = new Set(matched.flatMap(({ body }) => body.then.requires_approval_gate ?? []))
  const asking = loop.packs.policy.gates.filter(({ gate, condition }) => {
    const covers = gate.capabilities?.includes(id) ?? tierIn(loop, id)?.kind === 'write'
    return named.has(gate.gate_id) || (covers && condition.evaluate(read) !== false)
  })
  return asking.map(({ gate }) => gate)
}

export interface ApprovalNeed {
  readonly needed: boolean
  readonly gates: readonly string[]
  /** Needed, and nobody is named who could give it. */
  readonly missing: boolean
}

/** Which approval a call needs: a gate that holds, a destructive call, or one above what the run may do by itself. */
export function approvalFor({ effective, gates }: Pick<Ruling, 'effective' | 'gates'>, safetyMode: Tier): ApprovalNeed {
  const needed = gates.length > 0 || effective === 'destructive' || rankOf(effective) > rankOf(safetyMode)
  return { needed, gates: gates.map(({ gate_id }) => gate_id), missing: needed && gates.length === 0 }
}

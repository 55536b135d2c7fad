import { byUnit, type Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { type Tier, tiers } from '../model/contract/context.ts'
import type { ApprovalGate, PackRule } from '../model/contract/pack.ts'
import { type Condition, compileCondition } from '../policy/conditions/condition.ts'
import { type Facts, Fault, undecided } from '../policy/conditions/values.ts'
import type { MergedPacks } from './merge.ts'

/** What conditions of a pack may read. */
export const packRoots = ['run', 'request', 'user', 'agent', 'capability', 'args', 'evidence', 'history', 'now']

interface Named {
  readonly bundle: string
  readonly rule: string
  readonly condition: Condition
}

export interface BundleRule extends Named {
  readonly priority: number
  readonly body: PackRule
  readonly enforced: boolean
}

/** The rules, controls and gates of packs with their conditions compiled: once for all compiles of these packs. */
export interface PackPolicy {
  readonly rules: readonly BundleRule[]
  readonly mustRefuse: readonly Named[]
  readonly mustEscalate: readonly Named[]
  readonly redactions: readonly Named[]
  readonly gates: readonly (Named & { readonly gate: ApprovalGate })[]
  /** Rules that are declared `non_enforcing` and cannot be compiled. */
  readonly skipped: readonly string[]
}

/** Compiles every condition. One of an enforced rule that does not compile is `policy.eval_error`, with its place. */
export function compilePackPolicy(packs: MergedPacks): PackPolicy {
  const skipped: string[] = []
  const control = (each: { readonly rule_id: string; readonly when: Json }): Named =>
    named('guardrails', each.rule_id, each.when)
  const rules = packs.bundles.flatMap(({ bundle_id: bundle, priority, policy_dsl, non_enforcing = [] }) =>
    policy_dsl.rules.flatMap((body): BundleRule[] => {
      const enforced = !non_enforcing.includes(body.rule_id)
      try {
        return [{ ...named(bundle, body.rule_id, body.if), priority, body, enforced }]
      } catch (error) {
        if (enforced) throw error
        skipped.push(`${bundle}#${body.rule_id}`)
        return []
      }
    }),
  )
  return {
    rules: rules.sort((a, b) => b.priority - a.priority || byUnit(a.rule, b.rule)),
    mustRefuse: packs.mustRefuse.map(control),
    mustEscalate: packs.mustEscalate.map(control),
    redactions: packs.redactions.map(control),
    gates: packs.gates.map((gate) => ({ ...named('approval_gates', gate.gate_id, gate.when), gate })),
    skipped,
  }
}

function named(bundle: string, rule: string, when: Json): Named {
  try {
    return { bundle, rule, condition: compileCondition(when, { roots: packRoots }) }
  } catch (error) {
    throw evaluationFailed(bundle, rule, error instanceof Error ? error.message : '')
  }
}

const evaluationFailed = (bundle: string, rule: string, why: string): Failure =>
  new Failure('policy.eval_error', `rule ${quote(rule)} of ${quote(bundle)}: ${why}`, { bundle, rule_id: rule })

/** True, false, or left open by a fact that is not there yet. What cannot be evaluated fails the compile. */
function verdictOf({ bundle, rule, condition }: Named, facts: Facts): boolean | 'open' {
  const verdict = condition.evaluate(facts)
  if (verdict instanceof Fault) throw evaluationFailed(bundle, rule, verdict.message)
  return verdict === undecided ? 'open' : (verdict as boolean)
}

export interface Controls {
  readonly must_refuse: string[]
  readonly must_escalate: string[]
  readonly approval_gates_active: string[]
  readonly redaction_rules_active: string[]
}

/** The controls that fired: guardrails that hold, gates and redactions that hold or are still open. */
export const controlsIn = (policy: PackPolicy, facts: Facts): Controls => ({
  must_refuse: policy.mustRefuse.filter((each) => verdictOf(each, facts) === true).map(({ rule }) => rule),
  must_escalate: policy.mustEscalate.filter((each) => verdictOf(each, facts) === true).map(({ rule }) => rule),
  approval_gates_active: policy.gates.filter((each) => verdictOf(each, facts) !== false).map(({ rule }) => rule),
  redaction_rules_active: policy.redactions.filter((each) => verdictOf(each, facts) !== false).map(({ rule }) => rule),
})

export interface CapabilityRuling {
  readonly prohibited: boolean
  /** Some rule allows it, or may when more is known. */
  readonly allowed: boolean
  /** The lowest mode that the facts still leave it, before its floor and its highest. */
  readonly mode: Tier | undefined
  /** Every rule that matched or is still open, `bundle` and `rule`, by priority and id. */
  readonly said: readonly BundleRule[]
}

/** What the rules say of one capability, as far as it is known before any call. */
export function ruleOn(policy: PackPolicy, capability: { readonly id: string }, facts: Facts): CapabilityRuling {
  const intent = (facts['run'] as { readonly intent?: string } | undefined)?.intent
  const about = policy.rules.filter(({ body }) => appliesTo(body, capability.id, intent))
  const judged = about.flatMap((rule) => judge(rule, { ...facts, capability: capability as Json }))
  const matched = judged.filter(({ verdict }) => verdict === true).map(({ rule }) => rule)
  const allowing = judged.filter(({ rule }) => rule.body.then.allow)
  const prohibits = ({ body }: BundleRule): boolean => body.then.prohibits?.includes(capability.id) === true
  return {
    prohibited: matched.some(({ body }) => !body.then.allow) || prohibitors(policy, facts).some(prohibits),
    allowed: allowing.length > 0,
    mode: lowestMode(
      matched,
      allowing.filter(({ verdict }) => verdict === 'open').map(({ rule }) => rule),
    ),
    said: judged.map(({ rule }) => rule),
  }
}

interface Judged {
  readonly rule: BundleRule
  readonly verdict: true | 'open'
}

function judge(rule: BundleRule, facts: Facts): Judged[] {
  if (!rule.enforced) return []
  const verdict = verdictOf(rule, facts)
  return verdict === false ? [] : [{ rule, verdict }]
}

const prohibitors = (policy: PackPolicy, facts: Facts): readonly BundleRule[] =>
  policy.rules.filter((rule) => rule.enforced && rule.body.then.prohibits && verdictOf(rule, facts) === true)

function appliesTo({ applies_to = {} }: PackRule, capability: string, intent: string | undefined): boolean {
  const among = (list: string | readonly string[] | undefined, name: string | undefined): boolean =>
    list === undefined || [list].flat().some((each) => each === name)
  return among(applies_to.capability, capability) && among(applies_to.intent, intent)
}

function lowestMode(matched: readonly BundleRule[], open: readonly BundleRule[]): Tier | undefined {
  const certain = highestTier(matched.flatMap(({ body }) => body.then.approval_mode ?? []))
  if (matched.some(({ body }) => body.then.allow) || open.length === 0) return certain
  const possible = open.map(({ body }) => highestTier([certain ?? [], body.then.approval_mode ?? []].flat()))
  return possible.includes(undefined) ? undefined : lowestTier(possible as Tier[])
}

export const rankOf = (tier: Tier): number => tiers.indexOf(tier)
const highestTier = (all: readonly Tier[]): Tier | undefined => tiers.findLast((tier) => all.includes(tier))
export const lowestTier = (all: readonly Tier[]): Tier | undefined => tiers.find((tier) => all.includes(tier))

import type { Json } from '../base/canonical.ts'
import type { ApprovalGate, PackRule, PolicyBundle } from '../model/contract/pack.ts'
import type { Policy } from '../model/policy.ts'
import type { MergedPacks } from './merge.ts'
import type { SurfacedCapability } from './surface.ts'

type Rule = Policy['rules'][number]
type GovernedTool = Pick<SurfacedCapability, 'id' | 'tier'>

/**
 * The rules, guardrails and gates of packs in the one rule format, as the gateway asks them for each call. What a rule is
 * about is part of its condition; an allow that needs evidence is one only where that evidence is there.
 */
export function policiesOf(packs: MergedPacks, tools: readonly GovernedTool[]): readonly Policy[] {
  const version = packs.packs[0]?.pack_meta.pack_version ?? '0.0.0'
  const everywhere = { version, applies_to: ['*'] }
  const { mustRefuse, mustEscalate, gates } = packs
  const own = (name: string, rules: Rule[]): Policy => ({ name: `pack#${name}`, ...everywhere, rules })
  const reads = tools.filter(({ tier }) => tier.approval_mode === 'read_only').map(({ id }) => id)
  return [
    ...packs.bundles.map((bundle) => ({ name: bundle.bundle_id, ...everywhere, rules: rulesOf(bundle, gates) })),
    // No bundle has a name with `#`: what is of the packs as a whole has names that none of them can take.
    own(
      'must_refuse',
      mustRefuse.map(({ rule_id: id, when }) => ({ id, when, decision: 'deny' })),
    ),
    own(
      'must_escalate',
      mustEscalate.map(({ rule_id: id, when }) => ({ id, when, decision: 'requires_escalation' })),
    ),
    own(
      'approval_gates',
      gates.map((gate) => gateRule(gate, tools)),
    ),
    own('permissions', [{ id: 'reads', when: isOneOf('capability.id', reads), decision: 'allow' }]),
  ]
}

function rulesOf({ policy_dsl: { rules }, non_enforcing = [] }: PolicyBundle, gates: readonly ApprovalGate[]): Rule[] {
  return rules
    .filter(({ rule_id }) => !non_enforcing.includes(rule_id))
    .flatMap((rule): Rule[] => {
      const { rule_id: id, then } = rule
      const when = conditionOf(rule)
      const prohibited = then.prohibits ?? []
      const forbids: Rule[] =
        prohibited.length === 0
          ? []
          : [
              {
                id: `${id}#prohibits`,
                when: { and: [rule.if, isOneOf('capability.id', prohibited)] },
                decision: 'deny',
              },
            ]
      if (!then.allow) return [{ id, when, decision: 'deny' }, ...forbids]
      const needed = (then.requires ?? []).filter((key) => key !== 'policy_eval' && key !== 'approval')
      // `missing` answers a list, which holds where it is not empty.
      const missing = needed.map(
        (key): Rule => ({
          ...{ id: `${id}#requires#${key}`, decision: 'requires_more_evidence' },
          when: { and: [when, { '!!': [{ missing: [`evidence.${key}`] }] }] } as Json,
        }),
      )
      const gated = gates
        .filter(({ gate_id }) => gate_id === then.requires_approval_gate)
        .map((gate): Rule => ({ id: `${id}#gate`, when, decision: 'requires_approval', approval: termsOf(gate) }))
      return [{ id, when, decision: 'allow' }, ...forbids, ...missing, ...bounds(rule, when), ...gated]
    })
}

function conditionOf({ if: condition, applies_to: { intent, capability } = {} }: PackRule): Json {
  const about = [
    ...(capability === undefined ? [] : [isOneOf('capability.id', [capability].flat())]),
    ...(intent === undefined ? [] : [isOneOf('run.intent', [intent].flat())]),
  ]
  return about.length === 0 ? condition : ({ and: [...about, condition] } as Json)
}

const isOneOf = (fact: string, names: readonly string[]): Json => ({ in: [{ var: fact }, [...names]] }) as Json

/** A gate that names no capability is for every write. */
function gateRule(gate: ApprovalGate, tools: readonly GovernedTool[]): Rule {
  const { gate_id: id, when, capabilities } = gate
  const about = capabilities ?? tools.filter(({ tier }) => tier.kind === 'write').map((tool) => tool.id)
  return {
    ...{ id, when: { and: [isOneOf('capability.id', about), when] } as Json, decision: 'requires_approval' },
    approval: termsOf(gate),
  }
}

const termsOf = ({ required_approver_role, expires_in_ms = 900_000, quorum }: ApprovalGate): Rule['approval'] => ({
  ...{ roles: [required_approver_role], expires_in_s: Math.ceil(expires_in_ms / 1_000) },
  ...(quorum && { quorum }),
})

/**
 * The constraints of a rule that allows: a call outside them is denied. An argument that is not there breaks none but
 * `required`. A pattern is no condition: it is the gateway's to hold, before any rule is asked.
 */
function bounds({ rule_id, then: { arg_constraints = {} } }: PackRule, when: Json): Rule[] {
  return Object.entries(arg_constraints).flatMap(([name, { min, max, enum: among, required }]) => {
    const path = `args.${name}`
    const breaks: Json[] = [
      ...(min === undefined ? [] : [{ '<': [{ var: path }, min] }]),
      ...(max === undefined ? [] : [{ '>': [{ var: path }, max] }]),
      ...(among === undefined ? [] : [{ '!': [{ in: [{ var: path }, among] }] }]),
    ]
    const absent: Json = { '!!': [{ missing: [path] }] }
    const outside = breaks.map((each): Json => ({ and: [{ '!': [absent] }, each] }))
    const broken = [...(required ? [absent] : []), ...outside]
    return broken.map(
      (each, index): Rule => ({
        ...{ id: `${rule_id}#${name}#${index}`, decision: 'deny' },
        when: { and: [when, each] } as Json,
      }),
    )
  })
}

import type { Json } from '../base/canonical.ts'
import type { ApprovalGate, PackRule, PolicyBundle } from '../model/contract/pack.ts'
import type { Policy } from '../model/policy.ts'
import type { MergedPacks } from './merge.ts'
import type { SurfacedCapability } from './surface.ts'

type Rule = Policy['rules'][number]

/**
 * The rules, guardrails and gates of packs in the one rule format, as the gateway asks them for each call. What a rule is
 * about is part of its condition; an allow that needs evidence is one only where that evidence is there.
 */
export function policiesOf(packs: MergedPacks, tools: readonly SurfacedCapability[]): readonly Policy[] {
  const version = packs.packs[0]?.pack_meta.pack_version ?? '0.0.0'
  const everywhere = { version, applies_to: ['*'] }
  const { mustRefuse, mustEscalate, gates } = packs
  const reads = tools.filter(({ tier }) => tier.approval_mode === 'read_only').map(({ id }) => id)
  return [
    ...packs.bundles.map((bundle) => ({ name: bundle.bundle_id, ...everywhere, rules: rulesOf(bundle) })),
    {
      ...{ name: 'pack', ...everywhere },
      rules: [
        ...mustRefuse.map(({ rule_id: id, when }): Rule => ({ id, when, decision: 'deny' })),
        ...mustEscalate.map(({ rule_id: id, when }): Rule => ({ id, when, decision: 'requires_escalation' })),
        ...gates.map((gate) => gateRule(gate, tools)),
        { id: 'permitted_reads', when: isOneOf('capability.id', reads), decision: 'allow' as const },
      ],
    },
  ]
}

function rulesOf({ policy_dsl: { rules }, non_enforcing = [] }: PolicyBundle): Rule[] {
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
                id: `${id}.prohibits`,
                when: { and: [rule.if, isOneOf('capability.id', prohibited)] },
                decision: 'deny',
              },
            ]
      if (!then.allow) return [{ id, when, decision: 'deny' }, ...forbids]
      const needed = (then.requires ?? []).filter((key) => key !== 'policy_eval' && key !== 'approval')
      // `missing` answers a list, which holds where it is not empty.
      const missing = needed.map(
        (key): Rule => ({
          ...{ id: `${id}.requires.${key}`, decision: 'requires_more_evidence' },
          when: { and: [when, { '!!': [{ missing: [`evidence.${key}`] }] }] } as Json,
        }),
      )
      return [{ id, when, decision: 'allow' }, ...forbids, ...missing]
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
function gateRule(gate: ApprovalGate, tools: readonly SurfacedCapability[]): Rule {
  const { gate_id: id, when, required_approver_role: role, capabilities, quorum, expires_in_ms = 900_000 } = gate
  const about = capabilities ?? tools.filter(({ tier }) => tier.kind === 'write').map((tool) => tool.id)
  return {
    ...{ id, when: { and: [isOneOf('capability.id', about), when] } as Json, decision: 'requires_approval' },
    approval: { roles: [role], expires_in_s: Math.ceil(expires_in_ms / 1_000), ...(quorum && { quorum }) },
  }
}

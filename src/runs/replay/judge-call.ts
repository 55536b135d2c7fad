import type { Json } from '../../base/canonical.ts'
import type { JsonObject } from '../../base/object.ts'
import type { ApprovalGate } from '../../model/contract/pack.ts'
import type { PolicyDecision } from '../../model/evidence.ts'
import { compileCondition } from '../../policy/conditions/condition.ts'
import type { Facts } from '../../policy/conditions/values.ts'
import { Fault } from '../../policy/conditions/values.ts'
import { decide, judge, unknown } from '../../policy/decide.ts'
import type { PolicySet } from '../../policy/policies.ts'
import { argumentProblem, demandProblem } from '../plan/demands.ts'
import { type Loop, specOf, tierIn } from '../plan/facts.ts'
import { callRoots, ruleCall } from '../plan/modes.ts'
import type { CallMove } from '../plan/next-move.ts'

/** What packs answer to a call, in the order of the gateway: before it can run, and whoever else is asked. */
export type Judgement =
  | { readonly is: 'runs' }
  | { readonly is: 'waits'; readonly gates: readonly ApprovalGate[] }
  | { readonly is: 'refused'; readonly status: 'rejected' | 'blocked'; readonly code: string; readonly message: string }

type Asked = Pick<CallMove, 'capability_id' | 'args' | 'step' | 'requested' | 'highest'>

export function judgeCall(call: Asked, loop: Loop, policies: PolicySet): Judgement {
  const argument = argumentProblem(call, loop)
  if (argument !== undefined) return { is: 'refused', status: 'rejected', ...argument }
  const demand = demandProblem(call, loop)
  if (demand !== undefined) return { is: 'refused', status: 'blocked', ...demand }
  const ruling = decide(policies, call.capability_id, rulesRead(call, loop))
  if (ruling.decision === 'allow') return { is: 'runs' }
  if (ruling.decision === 'requires_approval') return { is: 'waits', gates: ruleCall(call, loop, true)?.gates ?? [] }
  const code = ruling.reason === 'policy_error' ? 'policy_eval_error' : (codes[ruling.decision] ?? 'policy_denied')
  return { is: 'refused', status: 'blocked', code, message: ruling.rule ?? 'no rule allows this call' }
}

const codes: Partial<Record<PolicyDecision, string>> = {
  requires_escalation: 'escalated_by_control',
  requires_more_evidence: 'requires_unmet',
}

/** As the gateway gives it to the rules of packs. */
function rulesRead({ capability_id: id, args }: Asked, loop: Loop): Facts {
  const { history: _, ...read } = callRoots(args, loop)
  return { ...read, capability: { id, ...tierIn(loop, id) } as Json }
}

/**
 * Facts that rules of other packs turn on and that no request of the time had: what those who ask would have said, had
 * they known these rules, is not on record. What the run's own rules read as well was absent for them too.
 */
export function absentFacts(
  call: Asked,
  loop: Loop,
  policies: PolicySet,
  own: { readonly policies: PolicySet; readonly run: Pick<Loop, 'known'> },
): readonly string[] {
  const applicable = policies.applicable(call.capability_id)
  const facts = rulesRead(call, loop)
  const spec = specOf(loop)
  const ofSpec = spec && compileCondition(spec.eligibility_rules)
  const known = new Set([
    ...own.policies.applicable(call.capability_id).rules.flatMap(({ condition }) => condition.reads),
    ...own.run.known.specs.flatMap(({ eligibility_rules }) => compileCondition(eligibility_rules).reads),
  ])
  const read = [...applicable.rules.flatMap(({ condition }) => condition.reads), ...(ofSpec?.reads ?? [])]
  const absent = [...new Set(read)].filter((path) => isSaid(path) && !known.has(path) && isAbsent(path, facts))
  if (absent.length === 0) return []
  const marked = absent.reduce(markUnknown, facts)
  const verdict = ofSpec?.evaluate(marked)
  const needs = judge(applicable, marked).needs
  return [...new Set([...needs, ...((verdict instanceof Fault && verdict.needs) || [])].flat())]
}

/** By whoever asked. */
const isSaid = (path: string): boolean => /^(?:request\.context|user)\./.test(path)

const isAbsent = (path: string, facts: Facts): boolean =>
  path
    .split('.')
    .reduce<Json | undefined>(
      (value, name) => (typeof value === 'object' && value !== null ? (value as JsonObject)[name] : undefined),
      facts as JsonObject,
    ) == null

function markUnknown(facts: Facts, path: string): Facts {
  const [root = '', ...rest] = path.split('.')
  return { ...facts, [root]: markAt(facts[root], rest, path) }
}

function markAt(value: Json | undefined, [name, ...rest]: readonly string[], path: string): Json {
  if (name === undefined) return unknown(path) as unknown as Json
  const members = typeof value === 'object' && value !== null ? (value as JsonObject) : {}
  return { ...members, [name]: markAt(members[name], rest, path) }
}

import type { PolicyDecision } from '../model/evidence.ts'
import type { ApprovalTerms, Policy } from '../model/policy.ts'
import type { Condition } from './conditions/condition.ts'

/** Which policy, exactly: the hash is over the whole document. */
export interface PolicyRef {
  readonly name: string
  readonly version: string
  readonly hash: string
}

/** One rule that had a say, as `basis` of the call record wants it. */
export interface MatchedRule {
  readonly policy: string
  /** `policy/rule`. */
  readonly rule: string
  /** The rule's decision; with `would_` before it where the policy is `audit_only`. */
  readonly effect: PolicyDecision | `would_${PolicyDecision}`
  /** Context fields by name, all other facts by path. */
  readonly reads: readonly string[]
  /** It counts because a fact is absent, not because it holds. */
  readonly undecided?: true
  /** It could not be evaluated, and denies. */
  readonly error?: true
}

export interface CompiledRule {
  /** `policy/rule`, as evidence names it. */
  readonly name: string
  readonly policy: PolicyRef
  readonly decision: PolicyDecision
  readonly approval: ApprovalTerms
  readonly enforced: boolean
  readonly condition: Condition
  /** What is recorded of it when it holds, is left open, or cannot be evaluated: made once, for all calls. */
  readonly matched: Readonly<Record<'holds' | 'undecided' | 'error', MatchedRule>>
}

type Rule = Pick<Policy['rules'][number], 'id' | 'decision' | 'approval'>

export function makeRule(
  { id, decision, approval = {} }: Rule,
  condition: Condition,
  policy: PolicyRef,
  enforced: boolean,
): CompiledRule {
  const name = `${policy.name}/${id}`
  const effect = (word: PolicyDecision): MatchedRule['effect'] => (enforced ? word : `would_${word}`)
  const holds = { policy: policy.name, rule: name, effect: effect(decision), reads: fieldsIn(condition.reads) }
  const matched = {
    holds,
    undecided: { ...holds, undecided: true },
    error: { ...holds, effect: effect('deny'), error: true },
  } as const
  return { name, policy, decision, approval, enforced, condition, matched }
}

/** What a contract or a person calls the facts: a context field by its name alone, whatever of it is read. */
function fieldsIn(paths: readonly string[]): readonly string[] {
  const names = paths.map((path) => {
    const [root, field] = path.split('.')
    return root === 'context' && field !== undefined ? field : path
  })
  return [...new Set(names)].sort()
}

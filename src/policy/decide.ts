import type { PolicyDecision } from '../model/evidence.ts'
import type { ApprovalTerms } from '../model/policy.ts'
import type { Verdict } from './conditions/condition.ts'
import { type Facts, Fault, undecided } from './conditions/values.ts'
import type { Applicable, PolicySet } from './policies.ts'
import { defaultTerms } from './quorum.ts'
import type { CompiledRule, MatchedRule, PolicyRef } from './rule.ts'

export interface Ruling {
  readonly decision: PolicyDecision
  /** Whether an enforced policy names this capability. If not, the decision is deny, and what is declared may allow. */
  readonly applies: boolean
  readonly matched: readonly MatchedRule[]
  readonly policies: readonly PolicyRef[]
  /** The policy of the rule that decided; where no rule did, the only one that was asked. */
  readonly policy: PolicyRef | null
  /** The rule that decided, `policy/rule`. */
  readonly rule: string | null
  /** What the rules that ask for approval demand, each to be met; empty unless approval is the decision. */
  readonly approval: readonly ApprovalTerms[]
  readonly reason: 'no_matching_allow' | 'policy_error' | null
  /** What it would have been, had `audit_only` policies been enforced; null where there are none. */
  readonly audited: PolicyDecision | null
  readonly error?: true
}

/**
 * The strictest rule that holds wins; where none holds, or one cannot be evaluated, it is deny. A rule left open by
 * absent facts counts, unless it would allow.
 */
export function decide(set: PolicySet, capabilityId: string, facts: Facts): Ruling {
  const applicable = set.applicable(capabilityId)
  return conclude(
    applicable,
    applicable.rules.flatMap((rule) => holdingOf(rule, rule.condition.evaluate(facts)) ?? []),
  )
}

interface Holding {
  readonly rule: CompiledRule
  readonly because: 'holds' | 'undecided' | 'error'
}

/** Whether a rule has a say: it holds, it is left open and would not allow, or it cannot be evaluated. */
function holdingOf(rule: CompiledRule, verdict: Verdict): Holding | undefined {
  if (verdict === true) return { rule, because: 'holds' }
  if (verdict === false || (verdict === undecided && rule.decision === 'allow')) return undefined
  return { rule, because: verdict === undecided ? 'undecided' : 'error' }
}

/** The ruling of all rules that have a say, which must be in the order of those that apply. */
function conclude({ policies, audited }: Applicable, found: readonly Holding[]): Ruling {
  const enforced = found.filter(({ rule }) => rule.enforced)
  const deciding = decidingOf(enforced)
  const decision = decisionOf(deciding)
  const own = audited.length === 0 ? policies : policies.filter(({ name }) => !audited.includes(name))
  return {
    decision,
    applies: own.length > 0,
    matched: found.length === 0 ? audited.map(silentAudit) : found.map(({ rule, because }) => rule.matched[because]),
    policies,
    policy: deciding?.rule.policy ?? (own.length === 1 ? (own[0] ?? null) : null),
    rule: deciding?.rule.name ?? null,
    approval: decision === 'requires_approval' ? demandedTerms(enforced) : [],
    reason: deciding === undefined ? 'no_matching_allow' : deciding.because === 'error' ? 'policy_error' : null,
    audited: audited.length === 0 ? null : decisionOf(decidingOf(found)),
    ...(deciding?.because === 'error' && { error: true }),
  }
}

/** A rule in error before all others; then the strictest, which stands first. */
const decidingOf = (found: readonly Holding[]): Holding | undefined =>
  found.find(({ because }) => because === 'error') ?? found[0]

const decisionOf = (deciding: Holding | undefined): PolicyDecision =>
  deciding === undefined || deciding.because === 'error' ? 'deny' : deciding.rule.decision

/** Where no rule of any policy has a say, those that are `audit_only` would deny: that is recorded too. */
const silentAudit = (policy: string): MatchedRule => ({
  policy,
  rule: `${policy}/no_matching_allow`,
  effect: 'would_deny',
  reads: [],
})

/** What each rule asks for. Only rules that ask the same people are one: a yes to one rule is none to another. */
function demandedTerms(found: readonly Holding[]): ApprovalTerms[] {
  const terms = found.filter(({ rule }) => rule.decision === 'requires_approval').map(({ rule }) => rule.approval)
  return [...Map.groupBy(terms, peopleOf).values()].map(mergedTerms)
}

const peopleOf = ({ roles, approvers }: ApprovalTerms): string => JSON.stringify([sorted(roles), sorted(approvers)])

/** Of terms that ask the same people: as many as the most demanding wants, in the shortest time. */
function mergedTerms(terms: readonly ApprovalTerms[]): ApprovalTerms {
  const roles = sorted(terms[0]?.roles)
  const approvers = sorted(terms[0]?.approvers)
  const quorums = terms.flatMap(({ quorum }) => quorum ?? [])
  const expiries = terms.map(({ expires_in_s }) => expires_in_s ?? defaultTerms.expires_in_s)
  return {
    ...(roles.length > 0 && { roles }),
    ...(approvers.length > 0 && { approvers }),
    ...(quorums.length > 0 && { quorum: Math.max(...quorums) }),
    ...(terms.some((term) => term.expires_in_s) && { expires_in_s: Math.min(...expiries) }),
    ...(terms.every(({ bind }) => bind === 'protocol') && { bind: 'protocol' as const }),
  }
}

const sorted = (names: readonly string[] = []): string[] => [...new Set(names)].sort()

/** Stands among the facts in place of one that is not known, which is another thing than absent. */
export const unknown = (path: string, isThere = false): Fault =>
  new Fault(`the value of \`${path}\` is not known`, path, isThere)

/** The ruling on what is known, and the paths of unknown facts that could change it. `settle` has the last word. */
export function judge(
  applicable: Applicable,
  facts: Facts,
  settle: (ruling: Ruling) => Ruling = (ruling) => ruling,
): { readonly ruling: Ruling; readonly needs: readonly string[] } {
  const { rules } = applicable
  const judged = rules.map((rule) => ({ rule, verdict: rule.condition.evaluate(facts) }) as const)
  const found = judged.flatMap(({ rule, verdict }) => (needsOf(verdict) ? [] : (holdingOf(rule, verdict) ?? [])))
  const byRank = (a: Holding, b: Holding) => rules.indexOf(a.rule) - rules.indexOf(b.rule)
  const rulingWith = (...more: readonly Holding[]) => settle(conclude(applicable, [...found, ...more].sort(byRank)))
  const ruling = rulingWith()
  // The strictest of several decides, so it is enough to ask what each open rule would do alone.
  // It may hold; or it divides, and the unknown value was zero.
  const turnsIt = (holding: Holding) => rulingWith(holding).decision !== ruling.decision
  const turns = (rule: Holding['rule']) =>
    turnsIt({ rule, because: 'holds' }) || (rule.condition.divides && turnsIt({ rule, because: 'error' }))
  const needs = judged.flatMap(({ rule, verdict }) => (needsOf(verdict) && turns(rule) ? [needsOf(verdict) ?? ''] : []))
  return { ruling, needs: ruling.error ? [] : [...new Set(needs)].sort() }
}

const needsOf = (verdict: unknown): string | undefined => (verdict instanceof Fault ? verdict.needs : undefined)

/** What is known before anybody calls. */
const known: ReadonlySet<string> = new Set(['subject', 'capability'])

/** True if the rules refuse every call of it by this subject. Rules that read other facts are left open. */
export function isAlwaysDenied(
  set: PolicySet,
  capabilityId: string,
  facts: Readonly<Pick<Facts, 'subject' | 'capability'>>,
): boolean {
  const { rules, policies, audited } = set.applicable(capabilityId)
  if (policies.every(({ name }) => audited.includes(name))) return false
  const enforced = rules.filter(({ enforced }) => enforced)
  const settled = (rule: CompiledRule) => (isKnown(rule) ? rule.condition.evaluate(facts as Facts) : undefined)
  if (enforced.some((rule) => refuses(rule) && settled(rule) === true)) return true
  return enforced.filter((rule) => !refuses(rule)).every((rule) => settled(rule) === false)
}

const isKnown = ({ condition }: CompiledRule): boolean =>
  condition.reads.every((path) => known.has(path.split('.', 1)[0] ?? ''))

const refuses = ({ decision }: CompiledRule): boolean => decision === 'deny' || decision === 'sandbox_only'

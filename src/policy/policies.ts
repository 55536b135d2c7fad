import { byUnit, type Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { objectHash } from '../base/hash.ts'
import type { ContextContract } from '../model/context.ts'
import type { Policy } from '../model/policy.ts'
import { inScopes } from '../model/text.ts'
import { type Condition, compileCondition } from './conditions/condition.ts'
import { Fault } from './conditions/values.ts'
import { byStrictness } from './decisions.ts'
import { type KeptFact, keptFactsOf } from './history.ts'
import { type CompiledRule, makeRule, type PolicyRef } from './rule.ts'

export interface Applicable {
  /** The strictest first, then by name: the order in which policies were given has no part in any answer. */
  readonly rules: readonly CompiledRule[]
  readonly policies: readonly PolicyRef[]
  /** The names of those that are `audit_only`. */
  readonly audited: readonly string[]
  readonly readsHistory: boolean
  /** What a record keeps of the facts that these rules read. */
  readonly kept: readonly KeptFact[]
}

export interface PolicySet {
  readonly policies: readonly PolicyRef[]
  /** Whether any rule asks what was called before. */
  readonly readsHistory: boolean
  readonly applicable: (capabilityId: string) => Applicable
}

/** What each version of each capability declares of its calls; null for one that has no context contract. */
export type Contracts = Iterable<readonly [string, ContextContract | null]>

/** What a rule may read. Never the raw payload: nothing unchecked reaches a rule. */
export const ruleRoots: readonly string[] = [
  ...['subject', 'actor', 'context', 'purpose', 'environment', 'capability', 'now'],
  ...['run', 'request', 'user', 'agent', 'args', 'evidence', 'history'],
]

/** Compiled policies. With `deny`, one that does not compile denies every call it applies to with `policy_error`. */
export function compilePolicies(
  policies: readonly Policy[],
  contracts?: Contracts,
  { invalid = 'refuse' }: { readonly invalid?: 'refuse' | 'deny' } = {},
): PolicySet {
  checkNames(policies)
  const compiled = policies.map((policy) => compilePolicy(policy, contracts, invalid))
  if (contracts !== undefined) checkReaders(contracts, policies)
  const known = new Map<string, Applicable>()
  const applicable = (capabilityId: string): Applicable => {
    const kept = known.get(capabilityId)
    if (kept !== undefined) return kept
    const found = gather(compiled, capabilityId)
    if (known.size < capabilitiesKeptMax) known.set(capabilityId, found)
    return found
  }
  const readsHistory = compiled.some(({ rules }) => isHistorical(rules))
  return { policies: compiled.map(({ ref }) => ref), readsHistory, applicable }
}

// Callers may name capabilities that no one has: those must not fill the memory.
const capabilitiesKeptMax = 10_000

interface Compiled {
  readonly policy: Policy
  readonly ref: PolicyRef
  readonly rules: readonly CompiledRule[]
}

function compilePolicy(policy: Policy, contracts: Contracts | undefined, invalid: 'refuse' | 'deny'): Compiled {
  const { name, version, mode = 'enforce' } = policy
  const ref = { name, version, hash: objectHash(policy as Json) }
  const enforced = mode === 'enforce'
  try {
    const conditions = conditionsOf(policy)
    if (contracts !== undefined) checkReads(policy, conditions, contracts)
    const rules = conditions.map((condition, index) =>
      makeRule(policy.rules[index] as Policy['rules'][number], condition, ref, enforced),
    )
    return { policy, ref, rules }
  } catch (error) {
    if (!(error instanceof Failure) || invalid === 'refuse') throw error
    const rule = makeRule({ id: 'invalid', decision: 'deny' }, always(error.message), ref, enforced)
    return { policy, ref, rules: [rule] }
  }
}

function always(message: string): Condition {
  const fault = new Fault(message)
  return { reads: [], probes: [], divides: false, evaluate: () => fault }
}

/** Every `when`, compiled; two rules of one id, or approval terms without approval, are refused with their place. */
function conditionsOf({ name, rules }: Policy): readonly Condition[] {
  const ids = new Set<string>()
  return rules.map(({ id, when, decision, approval }, index) => {
    const pointer = `/rules/${index}`
    if (ids.has(id)) throw invalidAt(`${pointer}/id`, `policy ${quote(name)} has two rules ${quote(id)}`)
    ids.add(id)
    if (approval !== undefined && decision !== 'requires_approval')
      throw invalidAt(`${pointer}/approval`, `rule ${quote(id)} has approval terms and does not ask for approval`)
    return compileCondition(when, { pointer: `${pointer}/when`, roots: ruleRoots })
  })
}

const invalidAt = (pointer: string, message: string, help?: string): Failure =>
  new Failure('policy.invalid', message, { pointer }, help)

function checkNames(policies: readonly Policy[]): void {
  const names = policies.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw invalidAt('/name', `there are two policies ${quote(twice)}`)
}

/** Refuses a policy with a rule that reads a field which a capability it applies to has not declared. */
export const checkAgainstContract = (policy: Policy, contracts: Contracts): void =>
  checkReads(policy, conditionsOf(policy), contracts)

function checkReads(policy: Policy, conditions: readonly Condition[], contracts: Contracts): void {
  const reached = [...contracts].filter(([id]) => appliesTo(policy, id))
  for (const [index, { reads }] of conditions.entries())
    for (const [root, field] of reads.map((path) => path.split('.'))) {
      const without = root === 'context' && reached.find(([, contract]) => !declares(contract, field))
      if (!without) continue
      const what = field === undefined ? 'the whole context' : `\`context.\` field ${quote(field)}`
      const message = `rule ${quote(policy.rules[index]?.id ?? '')} reads ${what}, which ${quote(without[0])} does not declare`
      throw invalidAt(`/rules/${index}/when`, message, 'declare the field in the context contract, or read another')
    }
}

const declares = (contract: ContextContract | null, field: string | undefined): boolean =>
  contract !== null && field !== undefined && Object.hasOwn(contract.fields, field)

/** Refuses a contract with a field that is said to be read by a policy that is not there. */
function checkReaders(contracts: Contracts, policies: readonly Policy[]): void {
  const names = new Set(policies.map(({ name }) => name))
  for (const [id, contract] of contracts)
    for (const [field, { read_by = [] }] of Object.entries(contract?.fields ?? {})) {
      const index = read_by.findIndex((name) => !names.has(name))
      if (index < 0) continue
      const message = `${quote(id)}: policy ${quote(read_by[index] ?? '')} is said to read ${quote(field)} and does not exist`
      throw invalidAt(`/fields/${field}/read_by/${index}`, message)
    }
}

const appliesTo = ({ applies_to }: Policy, id: string): boolean => inScopes(applies_to, id)

function gather(compiled: readonly Compiled[], capabilityId: string): Applicable {
  const reached = compiled.filter(({ policy }) => appliesTo(policy, capabilityId)).sort(byPolicyName)
  const rules = reached.flatMap((each) => each.rules).sort(byRank)
  return {
    rules,
    policies: reached.map(({ ref }) => ref),
    audited: reached.filter(({ policy }) => policy.mode === 'audit_only').map(({ ref }) => ref.name),
    readsHistory: isHistorical(rules),
    kept: keptFactsOf(rules.flatMap(({ condition }) => condition.reads)),
  }
}

const isHistorical = (rules: readonly CompiledRule[]): boolean =>
  rules.some(({ condition }) => condition.reads.some((path) => path.split('.', 1)[0] === 'history'))

const byPolicyName = (a: Compiled, b: Compiled): number => byUnit(a.ref.name, b.ref.name)
const rankOf = ({ decision }: CompiledRule): number => byStrictness.indexOf(decision)
const byRank = (a: CompiledRule, b: CompiledRule): number => rankOf(a) - rankOf(b) || byUnit(a.name, b.name)

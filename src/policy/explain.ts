import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { isObject, type JsonObject } from '../base/object.ts'
import type { PolicyDecision } from '../model/evidence.ts'
import type { Probe } from './conditions/place.ts'
import { compilePath, type Facts, Fault, undecided, type Value } from './conditions/values.ts'
import { judge, unknown } from './decide.ts'
import { byStrictness } from './decisions.ts'
import { readWritten } from './history.ts'
import type { Applicable, PolicySet } from './policies.ts'
import type { CompiledRule } from './rule.ts'

/** A fact as a rule saw it; without `value` where it is absent. */
interface SeenFact {
  readonly path: string
  readonly value?: Json
}

interface ExplainedRule {
  readonly rule: string
  readonly decision: PolicyDecision
  readonly enforced: boolean
  readonly verdict: 'holds' | 'does_not_hold' | 'undecided' | 'error'
  readonly message?: string
  readonly read: readonly SeenFact[]
}

/** One fact that, being other, would have changed the answer; without `value` where it would have to be absent. */
interface Turn {
  readonly path: string
  readonly value?: Json
  readonly to: PolicyDecision
  readonly rule: string | null
}

export type Explanation = ReturnType<typeof explain>

/**
 * Why the answer is what it is, rule by rule, and which single fact would have made it another: the mildest answers first,
 * each found by deciding again. `needs` are facts of the history that were not given, and without which nothing is told.
 */
export function explain(set: PolicySet, capabilityId: string, said: Facts) {
  const applicable = set.applicable(capabilityId)
  const facts = withUnsaid(applicable, readWritten(said))
  const judged = judge(applicable, facts)
  return {
    ...judged,
    rules: applicable.rules.map((rule) => explainRule(rule, facts)),
    turns: judged.needs.length > 0 ? [] : turnsOf(applicable, facts, judged.ruling.decision),
  }
}

/** Every call has a history: what is not said of it is unknown, not absent. */
function withUnsaid({ rules }: Applicable, facts: Facts): Facts {
  const { history = {} } = facts
  const paths = rules.flatMap(({ condition }) => condition.reads).map((path) => path.split('.'))
  const names = paths.flatMap(([root, name]) => (root === 'history' && name !== undefined ? [name] : []))
  if (names.length === 0 || !isObject(history)) return facts
  const unsaid = Object.fromEntries(names.map((name) => [name, unknown(`history.${name}`)]))
  return { ...facts, history: { ...unsaid, ...history } } as Facts
}

function explainRule({ name, decision, enforced, condition }: CompiledRule, facts: Facts): ExplainedRule {
  const verdict = condition.evaluate(facts)
  const values = condition.reads.map((path) => [path, compilePath(path)(facts)] as const)
  const read = values.flatMap(([path, value]) => (value instanceof Fault ? [] : [seen(path, value)]))
  const rest = { rule: name, decision, enforced, read }
  if (verdict instanceof Fault) return { ...rest, verdict: 'error', message: verdict.message }
  return { ...rest, verdict: verdict === undecided ? 'undecided' : verdict ? 'holds' : 'does_not_hold' }
}

const seen = (path: string, value: Value): SeenFact => (value === undefined ? { path } : { path, value: value as Json })

function turnsOf(applicable: Applicable, facts: Facts, before: PolicyDecision): readonly Turn[] {
  const nearest = new Map<string, Turn>()
  for (const { path, value } of attempts(applicable.rules, facts)) {
    const changed = withFact(facts, path.split('.'), value)
    if (changed === undefined) continue
    const { ruling, needs } = judge(applicable, changed as Facts)
    const { decision: to, rule } = ruling
    const place = `${to} ${path}`
    // The nearest value comes first, so it is the one that stays.
    if (to !== before && needs.length === 0 && !nearest.has(place))
      nearest.set(place, { ...seen(path, value), to, rule })
  }
  return [...nearest.values()].sort((a, b) => rank(b) - rank(a) || (a.path < b.path ? -1 : 1))
}

const rank = ({ to }: Turn): number => byStrictness.indexOf(to)

/** Other values for the facts that rules read, those nearest to the present one first, absence last. */
function attempts(rules: readonly CompiledRule[], facts: Facts) {
  const probes = rules.flatMap(({ condition }) => condition.probes)
  const paths = [...new Set(rules.flatMap(({ condition }) => condition.reads))].sort()
  const tried = paths.flatMap((path) => {
    const now = compilePath(path)(facts)
    const asked = probes.filter((probe) => probe.path === path)
    const values = new Set(asked.flatMap((probe) => valuesFor(probe, now, facts)))
    const others = [...values].filter((value) => value !== now).sort((a, b) => distance(a, now) - distance(b, now))
    const isRemovable = now !== undefined && !alwaysThere.test(path)
    return [...others, ...(isRemovable ? [undefined] : [])].map((value) => ({ path, value }))
  })
  return tried.slice(0, limits.explainAttemptsMax)
}

const alwaysThere = /^(?:now|capability|history)\b/

const distance = (value: Json, now: Value): number =>
  typeof value === 'number' && typeof now === 'number' ? Math.abs(value - now) : 0

function valuesFor({ asks, against }: Probe, now: Value, facts: Facts): readonly Json[] {
  const other = against(facts)
  if (asks === 'truth') return [true, false]
  if (asks === 'among') return Array.isArray(other) ? other.filter((entry) => typeof entry !== 'object') : []
  if (typeof other === 'number') return asks === 'holds' ? turned(now, other) : [other, other + 1, other - 1]
  if (typeof other === 'string') return asks === 'holds' ? turned(now, other) : [other]
  return typeof other === 'boolean' ? [other, !other] : []
}

/** A list with the entry that it lacks, or without the one that it has. */
function turned(list: Value, entry: Json): readonly Json[] {
  if (list === undefined) return [[entry]]
  if (!Array.isArray(list)) return []
  return [list.includes(entry) ? list.filter((one) => one !== entry) : [...list, entry]]
}

type Maybe = Json | undefined

/** The facts with one of them changed, or absent; undefined where there is no such place. */
function withFact(here: Maybe, [name = '', ...rest]: readonly string[], value: Maybe): Maybe {
  if (here !== undefined && !isObject(here)) return undefined
  const members = (here ?? {}) as JsonObject
  const inner = Object.hasOwn(members, name) ? members[name] : undefined
  if (rest.length === 0) return { ...members, [name]: value }
  const changed = withFact(inner ?? undefined, rest, value)
  return changed === undefined ? undefined : { ...members, [name]: changed }
}

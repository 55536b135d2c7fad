import { canonical, type Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { firstDifference, type ReadyPacks } from '../../compile/compile.ts'
import { summarySources } from '../../compile/facts.ts'
import type { MergedPacks } from '../../compile/merge.ts'
import { compileRun } from '../plan/compile-run.ts'
import { identityOf, type Played, play } from './play.ts'
import { isMove, type StoredRun } from './stored.ts'

/** What a recorded decision comes to under other packs, by the same facts. */
export type Comparison =
  | { readonly verdict: 'unchanged' }
  | {
      readonly verdict: 'changed'
      readonly field: string
      readonly from: Json
      readonly to: Json
      readonly first_stage: string
      readonly rule_ids: readonly string[]
    }
  | { readonly verdict: 'undecidable'; readonly missing: readonly string[] }

/** Decides a recorded run again under other packs. Nothing is called, and what nobody recorded is not guessed. */
export function compareRun(stored: StoredRun, packs: ReadyPacks): Comparison {
  const { measure, facts, envelope } = stored
  const own = { facts, packs: stored.packs, context: envelope.context }
  const before = play(stored, compileRun(own, measure))
  const from = summaryOf(before)
  const [last] = stored.versions.slice(-1)
  // Only what comes to the same under its own packs says anything about others.
  if (from === undefined || from.status !== last?.status) return undecidable(['replay'])
  if (defaultsOf(packs) !== defaultsOf(stored.packs)) return undecidable(['run_context'])
  try {
    const sources = [
      ...facts.sources.filter(({ block_id }) => !block_id.startsWith('summary:')),
      ...summarySources(packs.packs.packs),
    ]
    const after = play(stored, compileRun({ ...own, packs, facts: { ...facts, sources } }, measure), before)
    return 'missing' in after.end ? undecidable(after.end.missing) : verdictOn(before, after, from)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return refusedWith(error, from.status)
  }
}

const undecidable = (missing: readonly string[]): Comparison => ({ verdict: 'undecidable', missing })

/** With such packs the request would not have begun. */
export function refusedWith({ code, data }: Failure, status: string): Comparison {
  // What was not offered then may be now.
  if (data['capability_id'] !== undefined) return undecidable([`capability ${String(data['capability_id'])}`])
  const first_stage = code.startsWith('intent.') ? 'intent' : code.startsWith('policy.') ? 'policy' : 'packs'
  return { verdict: 'changed', field: 'status', from: status, to: wireCode(code), first_stage, rule_ids: [] }
}

/** What a run may do at most is set by its packs before it begins, with what its caller asked and its tenant allows. */
const defaultsOf = ({ packs }: ReadyPacks): string =>
  JSON.stringify(packs.packs.map(({ pack_meta }) => canonical((pack_meta.environment_defaults ?? {}) as Json)))

interface Summary {
  readonly status: string
  readonly outcome: Json
  readonly approvals: Json
  readonly outputs: Json
  readonly cause: Json
}

function summaryOf({ end, gates }: Played): Summary | undefined {
  const approvals = [...new Set(gates)]
  if ('missing' in end) return undefined
  if ('waits' in end) return { status: 'IN_FLIGHT', outcome: null, approvals, outputs: {}, cause: null }
  const { record_status: status, outcome = null, outputs, cause = null } = end.ending
  return { status, outcome, approvals, outputs: (status === 'DECIDED' ? outputs : {}) as Json, cause }
}

const fields = ['status', 'outcome', 'approvals', 'outputs', 'cause'] as const

function verdictOn(before: Played, after: Played, from: Summary): Comparison {
  const to = summaryOf(after) ?? from
  // One that waits has its status from that alone.
  const order = 'waits' in after.end ? (['approvals', ...fields] as const) : fields
  const field = order.find((name) => canonical(from[name]) !== canonical(to[name]))
  if (field === undefined) return { verdict: 'unchanged' }
  const first_stage = firstDifference(before.run.compiled, after.run.compiled) ?? firstMove(before, after)
  return {
    verdict: 'changed',
    field,
    from: from[field],
    to: to[field],
    first_stage,
    rule_ids: rulesBehind(before, after),
  }
}

const stages: Readonly<Record<string, string>> = {
  'plan.proposed': 'plan',
  'critic.verify': 'verify',
  'critic.score': 'score',
  'tool.started': 'call',
}

function firstMove({ events: a }: Played, { events: b }: Played): string {
  const [one, other] = [a.filter(isMove), b.filter(isMove)]
  const index = one.findIndex((event, place) => {
    const same = other[place]
    return same === undefined || identityOf(same) !== identityOf(event)
  })
  return stages[one[index]?.type ?? ''] ?? 'end'
}

/** Rules that had a say in one of the two alone, and those that say something else now. */
function rulesBehind(before: Played, after: Played): readonly string[] {
  const [one, other] = [saidIn(before), saidIn(after)]
  const bodies = [before, after].map(({ run }) => bodiesOf(run.packs.packs))
  const isOther = (rule: string): boolean => bodies[0]?.get(rule) !== bodies[1]?.get(rule)
  return [...one.union(other)].filter((rule) => one.has(rule) !== other.has(rule) || isOther(rule)).sort()
}

function saidIn({ rules, gates, run }: Played): Set<string> {
  const { must_refuse, must_escalate } = run.compiled.runtime_controls
  return new Set([...rules, ...[...gates, ...must_refuse, ...must_escalate]])
}

const bodiesOf = ({ bundles, mustRefuse, mustEscalate, gates }: MergedPacks): ReadonlyMap<string, string> =>
  new Map([
    ...bundles.flatMap(({ bundle_id, policy_dsl }) =>
      policy_dsl.rules.map((rule) => [`${bundle_id}#${rule.rule_id}`, canonical(rule as unknown as Json)] as const),
    ),
    ...[...mustRefuse, ...mustEscalate].map((rule) => [rule.rule_id, canonical(rule as unknown as Json)] as const),
    ...gates.map((gate) => [gate.gate_id, canonical(gate as unknown as Json)] as const),
  ])

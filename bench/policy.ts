import { LogicEngine } from 'json-logic-engine'
import type { Json } from '../src/base/canonical.ts'
import type { Policy } from '../src/model/policy.ts'
import type { Facts } from '../src/policy/conditions/values.ts'
import { decide } from '../src/policy/decide.ts'
import { strictest } from '../src/policy/decisions.ts'
import { compilePolicies } from '../src/policy/policies.ts'
import { type Bench, byTurns, type Row, rate } from './measure.ts'

const decisions = 50_000
const applying = 20

/** A decision over many rules, of which few apply: the time of one, beside bare conditions of json-logic-engine. */
const bench: Bench = async () => {
  const rows: Row[] = []
  for (const [total, microseconds] of [
    [100, 5],
    [1_000, 10],
  ] as const) {
    const policies = policiesOf(total)
    const [ours, peer] = [deciding(policies), evaluating(policies)]
    await ours()
    await peer()
    const measured = await byTurns(9, ours, peer)
    rows.push({
      name: `policy decision, ${total} rules, ${applying} apply`,
      unit: 'decisions/s',
      peerName: 'json-logic-engine, compiled',
      ...measured,
      goal: `< ${microseconds} µs`,
      met: 1e6 / measured.ours < microseconds,
    })
  }
  return rows
}
export default bench

function deciding(policies: readonly Policy[]): () => Promise<number> {
  const set = compilePolicies(policies)
  return () =>
    rate(decisions, () => {
      for (let count = 0; count < decisions; count++) decide(set, 'depot.release', factsOf(count))
    })
}

/** Given the rules that apply, and no record of what held. */
function evaluating(policies: readonly Policy[]): () => Promise<number> {
  const engine = new LogicEngine()
  const rules = policies.filter(({ applies_to }) => applies_to.includes('depot.release')).flatMap(({ rules }) => rules)
  const built = rules.map(({ when, decision }) => ({
    holds: engine.build(when) as (facts: Facts) => unknown,
    decision,
  }))
  return () =>
    rate(decisions, () => {
      for (let count = 0; count < decisions; count++) {
        const facts = factsOf(count)
        strictest(built.filter(({ holds }) => holds(facts)).map(({ decision }) => decision))
      }
    })
}

const factsOf = (count: number): Facts => ({
  subject: { id: 'stock-planner', roles: ['buyer', 'planner'], verified: true },
  context: { minutes: count % 40, purpose: count % 3 === 0 ? 'routine' : 'shortage', amount: count % 500 },
  environment: 'prod',
})

/** Ten rules a policy; the first two policies are for the capability that is asked about. */
function policiesOf(total: number): readonly Policy[] {
  return Array.from({ length: total / 10 }, (_, index) => ({
    name: `policy-${index}`,
    version: '1',
    applies_to: [index * 10 < applying ? 'depot.release' : `depot.other_${index}`],
    rules: Array.from({ length: 10 }, (_, place) => ({
      id: `rule-${place}`,
      when: conditionOf(index * 10 + place),
      decision: (['allow', 'requires_approval', 'deny'] as const)[place % 3] ?? 'deny',
    })),
  }))
}

function conditionOf(number: number): Json {
  const minutes = { var: 'context.minutes' }
  const forms: readonly Json[] = [
    { and: [{ '>': [minutes, number] }, { '==': [{ var: 'context.purpose' }, 'routine'] }] },
    { or: [{ '<': [{ var: 'context.amount' }, number * 10] }, { in: ['buyer', { var: 'subject.roles' }] }] },
    { and: [{ '<=': [0, minutes, number] }, { in: [{ var: 'environment' }, ['prod', 'pilot']] }] },
    { '>=': [{ '+': [minutes, { var: 'context.amount' }] }, 400 + number] },
  ]
  return forms[number % forms.length] ?? true
}

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { loaded, stockCatalog, stockPack } from '../../test/support/contract.ts'
import type { Json } from '../base/canonical.ts'
import type { PolicyBundle } from '../model/contract/pack.ts'
import { decide } from '../policy/decide.ts'
import { compilePolicies } from '../policy/policies.ts'
import { mergePacks } from './merge.ts'
import { policiesOf } from './policies.ts'
import type { SurfacedCapability } from './surface.ts'

const capabilities = ['a.read', 'a.write'] as const
type Known = { readonly count?: number; readonly flag?: boolean; readonly proof?: boolean }

/** A condition with what it comes to: true, false, or left open by a fact that is not there. */
const conditions: readonly (readonly [Json, (known: Known) => boolean | undefined])[] = [
  [true, () => true],
  [false, () => false],
  [{ '>': [{ var: 'args.count' }, 5] }, ({ count }) => (count === undefined ? undefined : count > 5)],
  [{ '===': [{ var: 'request.flag' }, true] }, ({ flag }) => (flag === undefined ? undefined : flag)],
]
const anyCondition = fc.constantFrom(...conditions)
const anyRule = fc.record({
  condition: anyCondition,
  allow: fc.boolean(),
  about: fc.option(fc.constantFrom(...capabilities), { nil: undefined }),
  requires: fc.boolean(),
  prohibits: fc.option(fc.constantFrom(...capabilities), { nil: undefined }),
  gated: fc.boolean(),
  most: fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined }),
})
const anyWorld = fc.record({
  rules: fc.array(anyRule, { maxLength: 5 }),
  refuse: fc.array(anyCondition, { maxLength: 2 }),
  escalate: fc.array(anyCondition, { maxLength: 2 }),
  gate: fc.option(anyCondition, { nil: undefined }),
  capability: fc.constantFrom(...capabilities),
  known: fc.record(
    { count: fc.integer({ min: 0, max: 10 }), flag: fc.boolean(), proof: fc.boolean() },
    { requiredKeys: [] },
  ),
})
type World = typeof anyWorld extends fc.Arbitrary<infer W> ? W : never

/** The precedence, said once more: refusals, denials, escalations, missing evidence, people, then an allow. */
function reference({ rules, refuse, escalate, gate, capability, known }: World): string {
  const fires = ([, holds]: (typeof conditions)[number]): boolean => holds(known) !== false
  const about = rules.filter(({ about }) => about === undefined || about === capability)
  const denies = about.some(({ allow, condition }) => !allow && fires(condition))
  const prohibits = rules.some(({ prohibits, condition }) => prohibits === capability && fires(condition))
  const breaks = about.some(
    ({ allow, most, condition }) =>
      allow && most !== undefined && known.count !== undefined && known.count > most && fires(condition),
  )
  if (refuse.some(fires) || denies || prohibits || breaks) return 'deny'
  if (escalate.some(fires)) return 'requires_escalation'
  const unmet = about.some(
    ({ allow, requires, condition }) => allow && requires && known.proof !== true && fires(condition),
  )
  if (unmet) return 'requires_more_evidence'
  if (gate !== undefined && capability === 'a.write' && fires(gate)) return 'requires_approval'
  if (about.some(({ allow, gated, condition }) => allow && gated && fires(condition))) return 'requires_approval'
  const allowed = capability === 'a.read' || about.some(({ allow, condition }) => allow && condition[1](known) === true)
  return allowed ? 'allow' : 'deny'
}

function worldAsPack({ rules, refuse, escalate, gate }: World) {
  const pack = stockPack()
  const bundle: PolicyBundle = {
    ...{ bundle_id: 'B', priority: 1 },
    policy_dsl: {
      language: 'jsonlogic',
      rules: rules.map(({ condition: [when], allow, about, requires, prohibits, gated, most }, index) => {
        const body = {
          ...{ allow, ...(requires && { requires: ['proof'] }), ...(prohibits && { prohibits: [prohibits] }) },
          ...(gated && { requires_approval_gate: 'G_OF_RULES' }),
          ...(most !== undefined && { arg_constraints: { count: { max: most } } }),
        }
        return {
          rule_id: `R${index}`,
          if: when,
          ...(about && { applies_to: { capability: about } }),
          // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
          then: body,
        }
      }),
    },
  }
  const rail = ([when]: (typeof conditions)[number], rule_id: string) => ({ rule_id, when, reason: 'x' })
  pack.policy_layer = {
    policy_bundles: [bundle],
    guardrails: {
      must_refuse: refuse.map((each, index) => rail(each, `F${index}`)),
      must_escalate: escalate.map((each, index) => rail(each, `E${index}`)),
      redaction_rules: [],
    },
    // The second asks people only where a rule says so.
    approval_gates: [
      ...(gate === undefined ? [] : [{ gate_id: 'G', when: gate[0], required_approver_role: 'boss' }]),
      { gate_id: 'G_OF_RULES', when: false, required_approver_role: 'boss' },
    ],
  }
  return pack
}

const tool = (id: string, approval_mode: 'read_only' | 'network', kind: 'read' | 'write') =>
  ({ id, tier: { approval_mode, kind } }) as SurfacedCapability
const tools = [tool('a.read', 'read_only', 'read'), tool('a.write', 'network', 'write')]

test('the rules of a pack, read into the one rule format, decide by the precedence of packs in every world [R-75]', () => {
  fc.assert(
    fc.property(anyWorld, (world) => {
      const packs = mergePacks([loaded(worldAsPack(world)), loaded(stockCatalog())])
      const set = compilePolicies(policiesOf(packs, tools))
      const { count, flag, proof } = world.known
      const facts = {
        ...{ capability: { id: world.capability }, run: { intent: 'x' }, now: '2026-01-01T00:00:00.000Z' },
        args: count === undefined ? {} : { count },
        request: flag === undefined ? {} : { flag },
        evidence: proof === true ? { proof: true } : {},
      } as { readonly [root: string]: Json }
      assert.equal(decide(set, world.capability, facts).decision, reference(world))
    }),
    { numRuns: 500 },
  )
})

test('a bundle has whatever name it likes beside the rules that are of packs as a whole [R-75]', () => {
  const pack = stockPack()
  const [bundle] = pack.policy_layer.policy_bundles
  assert(bundle)
  bundle.bundle_id = 'pack'
  const set = compilePolicies(policiesOf(mergePacks([loaded(pack), loaded(stockCatalog())]), tools))
  assert.equal(set.policies.length, 5)
})

test('a rule holds its arguments to its constraints: what breaks one is denied, what is absent breaks only `required` [R-75]', () => {
  const pack = stockPack()
  const [bundle] = pack.policy_layer.policy_bundles
  assert(bundle)
  const arg_constraints = { cents: { min: 1, max: 9, required: true }, currency: { enum: ['EUR', 'NOK'] } }
  bundle.policy_dsl.rules = [
    {
      ...{ rule_id: 'R', if: true },
      // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
      then: { allow: true, arg_constraints },
    },
  ]
  const set = compilePolicies(policiesOf(mergePacks([loaded(pack), loaded(stockCatalog())]), []))
  const decided = (args: Json) => {
    const facts = { capability: { id: 'a.write' }, run: { intent: 'x' }, now: '', args, request: { context: {} } }
    return decide(set, 'a.write', { ...facts, evidence: {} } as { readonly [root: string]: Json }).decision
  }
  for (const args of [{ cents: 1 }, { cents: 9, currency: 'NOK' }]) assert.equal(decided(args), 'allow')
  for (const args of [{}, { cents: 0 }, { cents: 10 }, { cents: 1, currency: 'USD' }])
    assert.equal(decided(args), 'deny')
})

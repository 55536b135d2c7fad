import assert from 'node:assert/strict'
import { test } from 'vitest'
import { loaded, stockCatalog, stockPack } from '../../../test/support/contract.ts'
import { loopFacts } from '../../../test/support/governed.ts'
import type { Json } from '../../base/canonical.ts'
import { readyPacks } from '../../compile/compile.ts'
import { approvalFor, ruleCall } from './modes.ts'
import { readProgress } from './progress.ts'

const loop = { ...loopFacts({}), progress: readProgress([]) }
const post = 'adp_ledger.post_write_off'
const gate = loop.packs.packs.gates[0]
assert(gate !== undefined)

/** The scenario with one rule more. */
const withRule = (when: Json, allow: boolean) => {
  const pack = stockPack()
  // biome-ignore lint/suspicious/noThenProperty: the contract calls it so
  pack.policy_layer.policy_bundles[0]?.policy_dsl.rules.push({ rule_id: 'R_MORE', if: when, then: { allow } })
  return { ...loop, packs: readyPacks([loaded(pack), loaded(stockCatalog())]) }
}

test.each([
  ['read_only', [], 'delegated', { needed: false, gates: [], missing: false }],
  ['delegated', [], 'delegated', { needed: false, gates: [], missing: false }],
  ['network', [gate], 'delegated', { needed: true, gates: ['GATE_CONTROLLER'], missing: false }],
  ['delegated', [], 'network', { needed: true, gates: [], missing: true }],
  ['destructive', [], 'destructive', { needed: true, gates: [], missing: true }],
  ['destructive', [gate], 'destructive', { needed: true, gates: ['GATE_CONTROLLER'], missing: false }],
] as const)(
  'a call of mode %s with gates %j in a run of mode %s needs its approval [R-76]',
  (effective, gates, mode, need) => {
    assert.deepEqual(approvalFor({ effective, gates }, mode), need)
  },
)

test('what is undecided stays open at verify; before the call it allows nothing, and denies [R-76]', () => {
  const call = { capability_id: post, args: {} }
  assert.deepEqual(
    [false, true].map((isFinal) => ruleCall(call, loop, isFinal)?.allowed),
    [true, false],
  )
  const high = { capability_id: post, args: { amount_minor: 640_000 } }
  const denies = withRule({ '>': [{ var: 'args.gone' }, 1] }, false)
  assert.deepEqual(
    [false, true].map((isFinal) => ruleCall(high, denies, isFinal)?.allowed),
    [true, false],
  )
  const fails = withRule({ '>': [{ var: 'args.amount_minor' }, 'x'] }, true)
  assert.equal(ruleCall(high, fails, true)?.reason, 'policy_eval_error')
})

test('the mode is what matched rules name, between the floor and the highest, and nothing else exists [R-76]', () => {
  const modes = (capability_id: string, args = {}) => {
    const { effective, highest } = ruleCall({ capability_id, args }, loop, true) ?? {}
    return [effective, highest]
  }
  assert.deepEqual(modes(post, { amount_minor: 640_000 }), ['destructive', 'destructive'])
  assert.deepEqual(modes('adp_stock.lookup'), ['read_only', 'read_only'])
  assert.deepEqual(modes('adp_notes.append'), ['local_write', 'local_write'])
  for (const id of ['adp_ledger.close_period', 'adp_stock', 'adp_stock.toString', '__proto__', 'x'])
    assert.equal(ruleCall({ capability_id: id, args: {} }, loop, true), undefined)
})

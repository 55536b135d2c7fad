import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { stockPack } from '../../test/support/contract.ts'
import { bucketNames, runBudget, tiers } from '../model/contract/context.ts'
import { makeBudget, safetyModeOf } from './budget.ts'
import { defaultBudget } from './envelope.ts'

const pack = (environment_defaults: object) => {
  const made = stockPack()
  return { ...made, pack_meta: { ...made.pack_meta, environment_defaults } }
}
const amount = fc.option(fc.integer({ min: 1, max: 50_000 }), { nil: undefined })

test('a budget has six buckets that sum to its total, and of each member the least that anybody said [R-10 R-26]', () => {
  fc.assert(
    fc.property(amount, amount, amount, amount, (asked, ofPack, ofTenant, tokens) => {
      const { budget, clamps } = makeBudget({
        mode: 'batch',
        runtime: asked === undefined ? {} : { max_tool_calls: asked },
        trusted: tokens === undefined ? {} : { run_budget: { total_tokens: tokens } },
        packs: [pack(ofPack === undefined ? {} : { run_budget: { max_tool_calls: ofPack, total_tokens: 60_000 } })],
        ceilings: ofTenant === undefined ? {} : { run_budget: { max_tool_calls: ofTenant } },
      })
      assert.deepEqual(runBudget.parse(budget), budget)
      assert.equal(
        bucketNames.reduce((sum, name) => sum + budget.bucket_tokens[name], 0),
        budget.total_tokens,
      )
      const allowed = Math.min(ofPack ?? defaultBudget.max_tool_calls, ofTenant ?? Number.POSITIVE_INFINITY)
      assert.equal(budget.max_tool_calls, Math.min(asked ?? allowed, allowed))
      const noted = clamps.filter(({ member }) => member === 'max_tool_calls')
      assert.deepEqual(
        noted.map((clamp) => [clamp.asked, clamp.given]),
        asked !== undefined && asked > allowed ? [[asked, allowed]] : [],
      )
    }),
  )
})

test('of a hint in the request and one of trusted code the lower counts [R-26]', () => {
  for (const [asked, said] of [
    [3, 8],
    [8, 3],
    [3, undefined],
  ] as const) {
    const trusted = { run_budget: { max_tool_calls: said } }
    const runtime = { max_tool_calls: asked }
    const { budget } = makeBudget({ mode: 'batch', runtime, trusted, packs: [pack({})], ceilings: {} })
    assert.equal(budget.max_tool_calls, 3)
  }
})

test('the tier of a run is what trusted code asks, else the lowest of its packs, never above the tenant [R-26]', () => {
  const packs = [pack({ safety_mode: 'delegated' }), pack({ safety_mode: 'network' }), pack({})]
  for (const ceiling of tiers) {
    const most = (tier: (typeof tiers)[number]) => tiers[Math.min(tiers.indexOf(tier), tiers.indexOf(ceiling))]
    const ceilings = { safety_mode: ceiling }
    assert.equal(safetyModeOf({ trusted: {}, packs, ceilings }), most('network'))
    assert.equal(safetyModeOf({ trusted: { safety_mode: 'destructive' }, packs, ceilings }), ceiling)
    assert.equal(safetyModeOf({ trusted: {}, packs: [pack({})], ceilings }), 'read_only')
  }
})

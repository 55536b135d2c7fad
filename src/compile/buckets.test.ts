import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { compiled, measure, sourceOf } from '../../test/support/contract.ts'
import { limits } from '../base/limits.ts'
import { fence } from '../fence/fence.ts'
import { bucketNames } from '../model/contract/context.ts'
import { countTokens } from '../tokens/count.ts'
import { fillBuckets, wrapperCharge } from './buckets.ts'
import type { Source } from './facts.ts'

const words = (count: number): string => 'batch '.repeat(count).trim()
/** A text of so many tokens, its wrapper included. */
const block = (id: string, tokens: number, more: Partial<Source> = {}): Source => {
  const fenced = { origin: 'resource' as const, name: 'n' }
  return sourceOf(id, words(tokens - wrapper('n')), { fenced, ...more })
}
const wrapper = (name: string): number => wrapperCharge(countTokens)({ fenced: { origin: 'resource', name } })

const allocation = { policy: 0, tool: 0, evidence: 3_500, memory: 500, business: 0, session: 0 }
const fill = (...sources: readonly Source[]) => fillBuckets(allocation, { mandatory: [], sources, measure })

test('a block that does not fit whole is dropped, with its bucket, reason and tokens [R-71]', () => {
  const { chosen, used, omissions } = fill(
    block('ev_count', 2_600, { priority: 90 }),
    block('ev_old_count', 1_200, { priority: 10 }),
  )
  assert.deepEqual([chosen.map(({ source }) => source.block_id), used.evidence], [['ev_count'], 2_600])
  assert.deepEqual(omissions, [
    {
      block_id: 'ev_old_count',
      bucket: 'evidence',
      reason: 'over_budget',
      tokens: 1_200,
      priority: 10,
      source_refs: [],
    },
  ])
})

test('a smaller block behind one that does not fit is still taken, and no token moves to another bucket [R-71]', () => {
  const sources = [
    block('a', 3_000, { priority: 9 }),
    block('b', 900, { priority: 8 }),
    block('c', 400, { priority: 7 }),
    block('d', 600, { bucket: 'memory' }),
  ]
  const { chosen, omissions } = fill(...sources)
  assert.deepEqual(
    chosen.map(({ source }) => source.block_id),
    ['a', 'c'],
  )
  assert.deepEqual(
    omissions.map(({ block_id }) => block_id),
    ['b', 'd'],
  )
})

test('a text that may be cut is cut at the end of a line, unless too little room is left [R-71]', () => {
  const lines = sourceOf('lines', `${words(50)}\n`.repeat(200), { splittable: true })
  const { chosen, used, omissions } = fill(block('first', 3_000, { priority: 90 }), lines)
  const [, cut] = chosen
  assert(cut?.truncated && cut.body.endsWith('batch') && used.evidence <= 3_500 && used.evidence > 3_400)
  assert.deepEqual(
    omissions.map(({ reason }) => reason),
    ['cut'],
  )
  assert.deepEqual(
    fill(block('first', 3_350, { priority: 90 }), lines).omissions.map(({ reason }) => reason),
    ['over_budget'],
  )
})

test('what is mandatory and does not fit fails the compile [R-55]', () => {
  const mandatory = [{ bucket: 'memory' as const, text: words(600) }]
  assert.throws(() => fillBuckets(allocation, { mandatory, sources: [], measure }), {
    code: 'mandatory.block_over_budget',
  })
})

const anySource = fc.record({
  block_id: fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 3, maxLength: 6 }),
  bucket: fc.constantFrom(...bucketNames),
  priority: fc.integer({ min: 0, max: 3 }),
  text: fc
    .array(fc.constantFrom('batch', 'count', '\n', '</ambit_data>', '{{', 'å'), { maxLength: 120 })
    .map((all) => all.join(' ')),
  splittable: fc.boolean(),
})

/** The filling as its rule says it, a bucket at a time. */
function reference(sources: readonly Source[], room: typeof allocation): readonly string[] {
  const taken: string[] = []
  for (const bucket of bucketNames) {
    let left = room[bucket]
    const ordered = sources
      .filter((source) => source.bucket === bucket)
      .sort((a, b) => b.priority - a.priority || (a.block_id < b.block_id ? -1 : a.block_id > b.block_id ? 1 : 0))
    for (const { block_id, text, splittable, fenced } of ordered) {
      const around = fenced === 'already' ? 0 : wrapper(fenced.name)
      const { body } = measure(text)
      const rows = body.split('\n')
      const whole = countTokens(body) + around
      if (whole <= left) {
        taken.push(block_id)
        left -= whole
      } else if (splittable && left - around >= limits.splitTokensMin) {
        const fitting = rows.slice(0, -1).map((_, index) => rows.slice(0, index + 1).join('\n'))
        const longest = fitting.findLast((some) => countTokens(some) <= left - around)
        if (longest === undefined) continue
        taken.push(`${block_id} cut`)
        left -= countTokens(longest) + around
      }
    }
  }
  return taken
}

test('the filling agrees with the reference on every set of sources, and its sums agree with its blocks [R-55 R-71]', () => {
  const room = { policy: 400, tool: 300, evidence: 500, memory: 200, business: 150, session: 250 }
  fc.assert(
    fc.property(fc.uniqueArray(anySource, { selector: ({ block_id }) => block_id, maxLength: 14 }), (found) => {
      const sources = found.map(({ block_id, text, ...more }) => sourceOf(block_id, text, more))
      const { chosen, used, omissions } = fillBuckets(room, { mandatory: [], sources, measure })
      assert.deepEqual(
        chosen.map(({ source, truncated }) => source.block_id + (truncated ? ' cut' : '')),
        reference(sources, room),
      )
      for (const bucket of bucketNames) {
        const sum = chosen.filter(({ source }) => source.bucket === bucket).reduce((all, { tokens }) => all + tokens, 0)
        assert(sum === used[bucket] && sum <= room[bucket])
      }
      const whole = chosen.filter(({ truncated }) => !truncated).length
      assert.equal(whole + omissions.length, sources.length)
    }),
    { numRuns: 300 },
  )
})

test('what is charged for a fence is never below what it costs [R-55]', () => {
  const seed = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary', maxLength: 200 }),
      seed,
      (name, text, seed) => {
        const { chosen } = fill(sourceOf('a', text, { fenced: { origin: 'attachment', name } }))
        const [{ body, tokens } = { body: '', tokens: 0 }] = chosen
        const { text: made } = fence({ element: 'ambit_data', origin: 'attachment', name, text: body, seed })
        assert(chosen.length === 0 || countTokens(made) <= tokens)
      },
    ),
  )
})

test('the report of a compile names what was dropped, and its sums agree [R-55 R-71]', () => {
  const { budget_report, context_ledger } = compiled({
    facts: { sources: [block('ev_count', 2_600, { priority: 90 }), block('ev_old_count', 1_200, { priority: 10 })] },
  })
  assert.deepEqual(budget_report.dropped_block_ids, { evidence: ['ev_old_count'] })
  assert.deepEqual([budget_report.bucket_truncations, budget_report.warnings.length], [{ evidence: true }, 1])
  assert.equal(budget_report.tokens_used_by_bucket.evidence, 2_600)
  const used = Object.values(budget_report.tokens_used_by_bucket).reduce((sum, tokens) => sum + tokens, 0)
  assert.equal(used, budget_report.tokens_used_at_compile)
  assert.deepEqual(context_ledger.budget, { tokens_used_at_compile: used, truncated_buckets: ['evidence'] })
})

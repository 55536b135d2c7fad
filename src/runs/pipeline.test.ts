import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { anyPath, grantAt, isAtOrBelow, makeIds, pathsOf } from '../../test/support/grants.ts'
import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { narrow } from '../grants/mint.ts'
import type { PipelineDefinition } from './definition.ts'
import { readManifest } from './manifest.ts'
import { type FinishedStep, narrowRequest, nextSteps, type PipelineMove } from './pipeline.ts'

function pipeline(kind: 'sequential' | 'parallel', steps: readonly object[], more: object = {}): PipelineDefinition {
  const read = readManifest({ id: 'line', version: '1.0.0', kind, steps, ...more })
  assert('steps' in read)
  return read
}

type Work = (agent: string, input: Json, key: string) => Json

/** Runs a pipeline to its end, ending one of the steps that are due at a time, the one that `pick` names. */
function drive(line: PipelineDefinition, input: Json, work: Work, pick: (count: number) => number = () => 0) {
  const finished: FinishedStep[] = []
  const inputs: Record<string, Json> = {}
  for (;;) {
    const move = nextSteps(line, input, finished)
    if (!('start' in move)) return { move, inputs, finished }
    const start = move.start[pick(move.start.length)] ?? assert.fail('something is due')
    inputs[start.key] = start.input
    finished.push({ key: start.key, output: work(start.agent, start.input, start.key) })
  }
}

const done = (move: PipelineMove): Json => ('done' in move ? move.done : assert.fail(JSON.stringify(move)))

test('a step gets the output of the step before, the first the input, unless it says another [G-68]', () => {
  const line = pipeline('sequential', [
    { id: 'a', ref: 'x' },
    { id: 'b', ref: 'y' },
    { id: 'c', ref: 'z', input: { first: '{{a}}', all: '{{input.q}} {{b.n}}' } },
  ])
  const { move, inputs } = drive(line, { q: 'Q' }, (agent) => ({ x: 1, y: { n: 2 }, z: ['end'] })[agent] ?? null)
  assert.deepEqual(inputs, { '1/a': { q: 'Q' }, '1/b': 1, '1/c': { first: 1, all: 'Q 2' } })
  assert.deepEqual(done(move), ['end'])
})

test('a step that is left out is null in the state and passes on the output before it [G-68]', () => {
  const line = pipeline(
    'sequential',
    [
      { id: 'a', ref: 'x' },
      { id: 'b', ref: 'y', when: '{{a}} == other' },
      { id: 'c', ref: 'z', when: '{{a}} == one && {{b}} == null' },
    ],
    { output: { b: '{{b}}', c: '{{c}}' } },
  )
  const { move, inputs } = drive(line, null, (agent, input) => (agent === 'x' ? 'one' : [input]))
  assert.deepEqual(inputs, { '1/a': null, '1/c': 'one' })
  assert.deepEqual(done(move), { b: null, c: ['one'] })
  assert.equal(done(drive(pipeline('sequential', [{ id: 'a', ref: 'x', when: 'false' }]), 'in', () => 0).move), 'in')
})

test('parallel steps start together and see the state as it was at their start [G-68]', () => {
  const line = pipeline('parallel', [
    { id: 'a', ref: 'x' },
    { id: 'b', ref: 'y', input: '{{input}} {{a}}' },
    { id: 'c', ref: 'z', when: '{{a}}' },
    { id: 'd', ref: 'z', when: '{{input}} == in', narrow: ['below'] },
  ])
  const move = nextSteps(line, 'in', [{ key: '1/a', output: 'A' }])
  assert.deepEqual(move, {
    start: [
      { key: '1/b', agent: 'y', input: 'in ', narrow: undefined },
      { key: '1/d', agent: 'z', input: 'in', narrow: ['below'] },
    ],
  })
  assert.deepEqual(done(drive(line, 'in', (agent) => agent).move), { a: 'x', b: 'y', c: null, d: 'z' })
})

test('a sequence repeats until its condition holds, each pass with what the one before made [G-68]', () => {
  const line = pipeline('sequential', [{ id: 'a', ref: 'x' }], { until: '{{a}} >= 3', maxIterations: 4 })
  const { move, inputs } = drive(line, 0, (_, input) => Number(input) + 1)
  assert.deepEqual([done(move), Object.keys(inputs)], [3, ['1/a', '2/a', '3/a']])
  const { move: ended } = drive({ ...line, passesMax: 2 }, 0, (_, input) => Number(input) + 1)
  assert.deepEqual(ended, { failed: { code: 'pipeline_iterations_exceeded', message: 'no end after 2 passes' } })
  const unsaid = pipeline('sequential', [{ id: 'a', ref: 'x' }], { until: 'false' })
  assert.equal(drive(unsaid, 0, () => 0).finished.length, limits.pipelineIterationsMax)
})

test('what a step is given holds its pipeline’s input and outputs, and nothing else of any run [G-68 G-69]', () => {
  const paths = ['grants', 'ceilings', 'surface', 'run', 'state', 'finished', 'z', 'constructor', '__proto__']
  const line = pipeline('sequential', [{ id: 'a', ref: 'x', input: paths.map((path) => `{{${path}}}`) }])
  const move = nextSteps(line, 'in', [{ key: '1/z', output: 'foreign' }])
  assert.deepEqual(
    'start' in move && move.start[0]?.input,
    paths.map(() => null),
  )
})

test('a failed step fails its pipeline with its own error [G-68]', () => {
  const error = { code: 'model_failed', message: 'no answer' }
  for (const kind of ['sequential', 'parallel'] as const) {
    const line = pipeline(kind, [
      { id: 'a', ref: 'x' },
      { id: 'b', ref: 'y' },
    ])
    assert.deepEqual(nextSteps(line, 1, [{ key: '1/a', error }]), { failed: error })
  }
})

test('a state has at most 1 MiB, and a step no larger input [G-68]', () => {
  const line = pipeline('sequential', [
    { id: 'a', ref: 'x' },
    { id: 'b', ref: 'y' },
  ])
  const half = 'x'.repeat(limits.stateBytesMax / 2)
  const move = nextSteps(line, half, [{ key: '1/a', output: half }])
  assert('failed' in move && move.failed.code === 'run_limit')
  assert('start' in nextSteps(line, half, [{ key: '1/a', output: half.slice(100) }]))
  const large = nextSteps(pipeline('parallel', [{ id: 'a', ref: 'x', input: ['{{input}}', '{{input}}'] }]), half, [])
  assert('failed' in large && large.failed.code === 'run_limit')
})

// The reference runs the steps itself, in one go, with a state that it writes as it goes.

interface Plan {
  readonly steps: readonly { id: string; ref: string; input?: string; when?: string }[]
  readonly until?: string
}

const place = fc.constantFrom('input', 'a', 'b', 'c')
const anyPlan: fc.Arbitrary<Plan> = fc.record(
  {
    steps: fc
      .array(
        fc.record(
          {
            ref: fc.constantFrom('x', 'y'),
            input: place.map((name) => `{{${name}}}`),
            when: fc
              .tuple(place, fc.constantFrom('==', '!='), fc.constantFrom('x', 'null'))
              .map(([a, o, b]) => `{{${a}}} ${o} ${b}`),
          },
          { requiredKeys: ['ref'] },
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map((steps) => steps.map((step, index) => ({ ...step, id: 'abc'.charAt(index) }))),
    until: fc.tuple(place, fc.constantFrom('x', 'y', 'null')).map(([name, value]) => `{{${name}}} == ${value}`),
  },
  { requiredKeys: ['steps'] },
)

const isTrue = (state: Record<string, Json>, source = 'always'): boolean => {
  const [, name = '', operator = '', value = ''] = /^\{\{(\w+)\}\} (.=) (\w+)$/.exec(source) ?? []
  const isEqual = (state[name] ?? null) === (value === 'null' ? null : value)
  return source === 'always' || isEqual === (operator === '==')
}

const isGiven = (state: Record<string, Json>, source: string): Json => state[source.slice(2, -2)] ?? null

function reference(plan: Plan, input: Json, work: Work, passesMax: number): Json | undefined {
  const state: Record<string, Json> = { input }
  let last = input
  for (let pass = 1; pass <= passesMax; pass++) {
    for (const step of plan.steps) {
      const given = step.input === undefined ? last : isGiven(state, step.input)
      const output = isTrue(state, step.when) ? work(step.ref, given, `${pass}/${step.id}`) : null
      state[step.id] = output
      last = output ?? last
    }
    if (plan.until === undefined || isTrue(state, plan.until)) return last
  }
  return undefined
}

/** Depends on all that a step is given, and is never null. */
const work: Work = (agent, input, key) => (JSON.stringify([agent, input, key]).length % 3 === 0 ? agent : [input, key])

test('a sequence ends as one that is run in one go, and as itself resumed after any step [G-68]', () => {
  fc.assert(
    fc.property(anyPlan, fc.constantFrom<Json>('x', null, 7), (plan, input) => {
      const line = pipeline('sequential', plan.steps, { ...(plan.until && { until: plan.until }), maxIterations: 3 })
      const { move, finished } = drive(line, input, work)
      const expected = reference(plan, input, work, 3)
      if (expected === undefined) assert('failed' in move)
      else assert.deepEqual(done(move), expected)
      for (const count of finished.keys()) {
        const resumed = nextSteps(line, input, finished.slice(0, count))
        assert('start' in resumed && resumed.start[0]?.key === finished[count]?.key)
      }
    }),
  )
})

test('the order in which parallel steps end changes nothing [G-68]', () => {
  fc.assert(
    fc.property(anyPlan, fc.constantFrom<Json>('x', null), fc.infiniteStream(fc.nat()), (plan, input, picks) => {
      const line = pipeline('parallel', plan.steps)
      const shuffled = drive(line, input, work, (count) => (picks.next().value ?? 0) % count)
      assert.deepEqual(done(shuffled.move), done(drive(line, input, work).move))
      const before = { input }
      const expected = plan.steps.map(({ id, ref, input: given, when }) => [
        id,
        isTrue(before, when) ? work(ref, given === undefined ? input : isGiven(before, given), `1/${id}`) : null,
      ])
      assert.deepEqual(done(shuffled.move), Object.fromEntries(expected))
    }),
  )
})

test('steps of other pipelines, repeated ones and ones that were never due change nothing of the state [G-68]', () => {
  const strange = fc.constantFrom('0/a', '1/z', '9/a', 'a', '__proto__', 'input', '1/input', '1/constructor')
  fc.assert(
    fc.property(anyPlan, fc.array(strange), fc.constantFrom('sequential', 'parallel'), (plan, keys, kind) => {
      const line = pipeline(kind, plan.steps)
      const { finished } = drive(line, 'x', work)
      const foreign = keys.map((key) => ({ key, output: 'foreign' }))
      const left = plan.steps.map(({ id }) => ({ key: `1/${id}`, output: 'late' }))
      for (const count of [...finished.keys(), finished.length]) {
        const known = finished.slice(0, count)
        const expected = nextSteps(line, 'x', known)
        assert.deepEqual(nextSteps(line, 'x', [...known, ...foreign]), expected)
        if (!('start' in expected)) assert.deepEqual(nextSteps(line, 'x', [...known, ...left]), expected)
      }
    }),
  )
})

test('two pipelines with one manifest share no state, and neither writes what it was given [G-68]', () => {
  fc.assert(
    fc.property(anyPlan, fc.constantFrom('sequential', 'parallel'), (plan, kind) => {
      const line = pipeline(kind, plan.steps)
      const input = Object.freeze({ deep: Object.freeze(['x']) })
      const alone = drive(line, input, work)
      drive(line, 'other', work)
      assert.deepEqual(drive(line, input, work), alone)
    }),
  )
})

test('narrowing puts each suffix below each grant, and gives nothing that its pipeline has not [G-36]', () => {
  const suffixes = fc.array(anyPath, { maxLength: 3 })
  fc.assert(
    fc.property(fc.array(anyPath, { maxLength: 3 }), suffixes, (paths, below) => {
      const live = paths.map((path) => grantAt(path))
      const request = narrowRequest(paths, below)
      const narrowed = narrow(live, request, { mintedBy: 'pipeline', ids: makeIds()(request.length) })
      const expected = new Set(paths.flatMap((path) => below.map((suffix) => `${path}/${suffix}`)))
      assert.deepEqual(new Set(pathsOf(narrowed)), expected)
      assert(pathsOf(narrowed).every((path) => paths.some((held) => path !== held && isAtOrBelow(path, held))))
    }),
  )
  assert.throws(() => narrowRequest(['a'.repeat(128)], [Array(6).fill('b'.repeat(100)).join('/')]), {
    code: 'grant.limit',
  })
})

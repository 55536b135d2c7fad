import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/canonical.ts'
import { type AgentSpec, defineAgent } from '../../src/runtime/agents/agent.ts'
import { callsOnce, codeAgent, pathsIn, runsByAgent } from '../support/run-trees.ts'
import { agent, finishedIn, givenRuns, notes } from '../support/runs.ts'

type Flow = Extract<AgentSpec, { kind: 'sequential' | 'parallel' }>

const flow = (kind: Flow['kind'], steps: Flow['steps'], more: Partial<Flow> = {}) =>
  defineAgent({ id: 'flow', kind, steps, ...more } as Flow)

describe.each(['sequential', 'parallel'] as const)('a step of a %s pipeline [G-36]', (kind) => {
  test.each([
    [['eu'], ['acme/eu', 'beta/eu']],
    [
      ['eu/berlin', 'us'],
      ['acme/eu/berlin', 'acme/us', 'beta/eu/berlin', 'beta/us'],
    ],
    [['acme'], ['acme/acme', 'beta/acme']],
    [[], []],
    [undefined, ['acme', 'beta']],
  ])('that narrows to %j holds those branches of each grant, and no more [G-35 G-36]', async (narrow, expected) => {
    const { provider, told } = notes()
    const reader = callsOnce('reader', [['notes_read', {}]], { resources: { notes: {} } })
    const given = await givenRuns({
      agents: [flow(kind, [{ id: 'a', agent: reader, ...(narrow && { narrow }) }])],
      providers: [provider],
    })
    const run = await given.run('flow', 'go', { context: ['acme', 'beta'] })
    const { reader: child } = await runsByAgent(given, run.run_id)
    assert.deepEqual(pathsIn(child), expected)
    assert(
      child?.grants.every(({ path, derived_from: [from] }) =>
        path.startsWith(run.grants.find(({ id }) => id === from)?.path ?? '/'),
      ),
    )
    assert.deepEqual(
      told.map(({ grants }) => grants),
      expected.length > 0 ? [expected] : [],
    )
  })

  test('can name no absolute path, no way up, no template and no pattern: the manifest is refused [G-36]', async () => {
    const child = agent('child', () => 'done')
    for (const suffix of [
      '/acme',
      'eu/',
      '',
      '..',
      'eu/../us',
      '{{input}}',
      'eu/{{input.x}}',
      '*',
      'e u',
      'eu//x',
      '\\acme',
      '%2e',
    ])
      assert.throws(
        () => flow(kind, [{ id: 'a', agent: child, narrow: [suffix] }]),
        { code: 'manifest.invalid' },
        suffix,
      )
  })

  test('that narrows beyond what a grant may be is refused with that, and the run above goes on [G-33 G-36]', async () => {
    const child = agent('child', () => 'done')
    const wide = flow(kind, [{ id: 'a', agent: child, narrow: Array.from({ length: 33 }, (_, index) => `x${index}`) }])
    const top = callsOnce('top', [['agent_flow', { input: 'go' }]], { tools: [wide] })
    const given = await givenRuns({ agents: [top] })
    const run = await given.run('top', 'go', { context: ['acme', 'beta'] })
    const { flow: failed, ...others } = await runsByAgent(given, run.run_id)
    assert.deepEqual([run.status, failed?.status, failed?.error?.code], ['completed', 'failed', 'grant_limit'])
    assert.deepEqual(Object.keys(others), ['top'])
    assert.deepEqual(finishedIn(await given.events(run.run_id)), [
      '1/a rejected grant_limit',
      'agent_flow failed grant_limit',
    ])
  })

  test('that its own schema refuses is not started, whatever wrote the schema [G-33 G-35]', async () => {
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'is odd') })
    const typed = defineAgent({ id: 'typed', kind: 'tool', input: even, run: ({ n }: { n: number }) => n })
    const given = await givenRuns({ agents: [flow(kind, [{ id: 'a', agent: typed, input: '{{input}}' }])] })
    assert.equal((await given.run('flow', { n: 2 })).status, 'completed')
    for (const input of [{ n: 3 }, { n: 'x' }, 'x']) {
      const run = await given.run('flow', input)
      assert.deepEqual([run.status, run.error?.code], ['failed', 'args_invalid'])
      assert.deepEqual(Object.keys(await runsByAgent(given, run.run_id)), ['flow'])
    }
  })
})

/** Changes all that it is given, and keeps what it answers to change that later. */
const answers: { [member: string]: Json }[] = []
const vandal = (id: string, answer: { [member: string]: Json } = {}) =>
  codeAgent(id, (input: { [member: string]: Json }) => {
    for (const old of answers) old['changed'] = id
    Object.assign(input, { changed: id })
    answers.push(answer)
    return answer
  })

describe('the state of a pipeline [G-68]', () => {
  test('is written by its execution alone: no step can change it by what it was given, or has answered [G-68]', async () => {
    const steps = [
      { id: 'one', agent: vandal('first', { of: 'one' }), input: '{{input}}' },
      { id: 'two', agent: vandal('second', { of: 'two' }), input: '{{one}}' },
      {
        id: 'three',
        agent: vandal('third', { of: 'three' }),
        input: { one: '{{one}}', two: '{{two}}', input: '{{input}}' },
      },
    ]
    const output = { input: '{{input}}', one: '{{one}}', two: '{{two}}', three: '{{three}}' }
    const given = await givenRuns({ agents: [flow('sequential', steps, { output })] })
    const run = await given.run('flow', { given: 1 })
    assert.deepEqual(run.result, {
      input: { given: 1 },
      one: { of: 'one' },
      two: { of: 'two' },
      three: { of: 'three' },
    })
    const runs = await runsByAgent(given, run.run_id)
    assert.deepEqual(
      [run.input, runs['second']?.input, runs['first']?.result],
      [{ given: 1 }, { of: 'one' }, { of: 'one' }],
    )
  })

  test('is for each step of a parallel pipeline as it was at the start, and no step sees another at work [G-68]', async () => {
    const seen: Json[] = []
    const look = (id: string) =>
      codeAgent(id, async (input: { [member: string]: Json }, run) => {
        input['by'] = id
        await run.invoke('tick', id)
        seen.push(structuredClone(input))
        return id
      })
    const steps = ['a', 'b', 'c'].map((id) => ({
      id,
      agent: look(id),
      ...(id === 'b' && { input: { of: '{{input}}', a: '{{a}}' } }),
    }))
    const given = await givenRuns({ agents: [flow('parallel', steps), codeAgent('tick', () => 'tick')] })
    const run = await given.run('flow', { given: 1 })
    assert.deepEqual(run.result, { a: 'a', b: 'b', c: 'c' })
    assert.deepEqual(seen, [
      { given: 1, by: 'a' },
      { of: { given: 1 }, a: null, by: 'b' },
      { given: 1, by: 'c' },
    ])
  })

  test('of a pipeline in a pipeline is its own, and so is that of each of two runs at once [G-68]', async () => {
    const say = codeAgent('say', (input) => input)
    const inner = defineAgent({
      ...{
        id: 'inner',
        kind: 'sequential',
        steps: [{ id: 'one', agent: say, input: { outer: '{{secret}}', own: '{{input}}' } }],
      },
      output: { outer: '{{secret}}', state: '{{one}}', parent: '{{parent}}' },
    } as Flow)
    const steps = [
      { id: 'secret', agent: say, input: 'of {{input}}' },
      { id: 'in', agent: inner, input: 'for {{input}}' },
    ]
    const given = await givenRuns({ agents: [flow('sequential', steps, { output: { in: '{{in}}', one: '{{one}}' } })] })
    const both = await Promise.all(['ada', 'bob'].map((name) => given.run('flow', name)))
    for (const [index, { result }] of both.entries()) {
      const own = `for ${['ada', 'bob'][index]}`
      assert.deepEqual(result, { in: { outer: null, state: { outer: null, own }, parent: null }, one: null })
    }
  })
})

test('a record keeps what its run was given and what it answered, whatever is done to those objects later [G-68 G-70]', async () => {
  const inner = codeAgent('inner', (input) => ({ heard: input }))
  const outer = codeAgent('outer', async (_, run) => {
    const asked = { a: 1 }
    const answer = run.invoke('inner', asked)
    asked.a = 2
    Object.assign((await answer) as object, { changed: true })
    return 'done'
  })
  const given = await givenRuns({ agents: [outer, inner] })
  const input = { b: 1 }
  const started = await given.ambit.run('outer', input)
  input.b = 2
  const run = await started.result()
  const { inner: child } = await runsByAgent(given, run.run_id)
  assert.deepEqual([run.input, child?.input, child?.result], [{ b: 1 }, { a: 1 }, { heard: { a: 1 } }])
  const answered = (await given.events(run.run_id)).find(({ type }) => type === 'tool.finished')
  assert.deepEqual(answered?.data['output'], { heard: { a: 1 } })
})

test('a template reaches neither prototypes nor grants nor the runs around it, in a step, a condition or an instruction [G-69]', async () => {
  const paths = [
    ...[
      '__proto__',
      'constructor',
      'constructor.name',
      'toString',
      'input.__proto__',
      'input.constructor',
      'input.toString',
    ],
    ...[
      'grants',
      'context',
      'run',
      'run.grants',
      'run_id',
      'parent',
      'state',
      'ambit',
      'process',
      'globalThis',
      'input.length',
    ],
  ]
  const heard: string[] = []
  const listener = agent(
    'listener',
    ({ system }) => {
      heard.push(system.split('\n\n').at(-1) ?? '')
      return 'heard'
    },
    { instruction: paths.map((path) => `[{{${path}}}]`).join('') },
  )
  const say = codeAgent('say', (input) => input)
  const steps = [
    { id: 'all', agent: say, input: Object.fromEntries(paths.map((path, index) => [`p${index}`, `{{${path}}}`])) },
    ...paths.map((path, index) => ({ id: `when${index}`, agent: say, when: `{{${path}}}` })),
    { id: 'listener', agent: listener },
  ]
  const given = await givenRuns({ agents: [flow('sequential', steps)] })
  const run = await given.run('flow', { text: 'x' }, { context: ['acme'] })
  assert.equal(run.status, 'completed', run.error?.message)
  const { say: said, listener: ran } = await runsByAgent(given, run.run_id)
  assert.deepEqual(said?.result, Object.fromEntries(paths.map((_, index) => [`p${index}`, null])))
  assert.deepEqual(heard, [paths.map(() => '[]').join('')])
  assert.equal(ran?.status, 'completed')
  const { runs } = await given.ambit.runs.list({ root: run.run_id })
  assert.equal(runs.length, 3)
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import { labelOf } from '../../src/resources/file-paths.ts'
import { files } from '../../src/resources/files.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { tempFolder } from '../cli/given.ts'
import { echo } from '../support/host.ts'
import { callsOnce, codeAgent, pathsIn, runsByAgent } from '../support/run-trees.ts'
import { agent, calls, finishedIn, givenRuns, notes } from '../support/runs.ts'

const rw = { mode: 'read-write' } as const

/** Everything that a model was told or shown. */
const shownTo = ({ requests }: ScriptedModel): string =>
  JSON.stringify(requests.map(({ system, messages, tools }) => ({ system, messages, tools })))

describe('grants and buckets of the same name [G-01 G-63]', () => {
  const words = 'the words of the bucket'
  const given = () => {
    const model = scriptedModel(() => 'done')
    const writer = agent('writer', () => words, { contextWrite: true })
    const reader = agent('reader', [], { model, resources: { notes: rw } })
    const { provider, told, prompted } = notes()
    return { model, told, prompted, open: () => givenRuns({ agents: [writer, reader], providers: [provider] }) }
  }

  test('a grant loads no text of a bucket, and a bucket adds no grant [G-01]', async () => {
    const { model, prompted, open } = given()
    const { run } = await open()
    await run('writer', 'go', { contextIds: ['acme'] })
    const granted = await run('reader', 'go', { context: ['acme'] })
    assert.deepEqual([pathsIn(granted), granted.context_ids], [['acme'], []])
    assert.doesNotMatch(shownTo(model), /the words of the bucket/)
    const shown = await run('reader', 'go', { contextIds: ['acme'] })
    assert.deepEqual([shown.grants, shown.context_ids], [[], ['acme']])
    assert.match(shownTo(model), /the words of the bucket/)
    assert.equal(prompted.length, 1)
    assert.deepEqual([...new Set(shown.surface.hidden.map(({ reason }) => reason))], ['grant_missing'])
  })

  test('buckets change nothing of grants, modes and surface [G-63]', async () => {
    const { open } = given()
    const { run } = await open()
    await run('writer', 'go', { contextIds: ['acme', 'beta'] })
    for (const context of [[], ['acme'], ['acme', 'acme/eu', 'gamma']]) {
      const plain = await run('reader', 'go', { context })
      const shown = await run('reader', 'go', { context, contextIds: ['acme', 'beta', 'acme-eu', 'unknown'] })
      for (const name of ['modes', 'surface', 'ceilings'] as const) assert.deepEqual(shown[name], plain[name])
      assert.deepEqual(pathsIn(shown), pathsIn(plain))
      assert(shown.grants.every(({ minted_by }) => minted_by === plain.grants[0]?.minted_by))
    }
  })
})

test('providers and code are told the grants of the run, its model never is [G-03]', async () => {
  const branches = ['zebra-7/vault', 'zebra-8/vault']
  const { provider, told, prompted } = notes()
  const seen: Json[] = []
  const code = codeAgent('code', (_, { grants }) => {
    seen.push([...grants])
    return 'seen'
  })
  const tools = ['notes_read', 'memory_read', 'memory_topics', 'scratchpad_read', 'files_list']
  const turn = calls(
    ...tools,
    ['notes_write', { text: 'x' }],
    ['memory_write', { content: 'x' }],
    ['scratchpad_append', { content: 'x' }],
    ['files_write', { path: `${labelOf('zebra-7/vault')}/a.txt`, content: 'x' }],
    ['agent_code', { input: 'go' }],
  )
  const model = scriptedModel([turn, calls(...tools), 'done', 'again'])
  const resources = { notes: rw, memory: rw, scratchpad: rw, files: rw }
  const desk = agent('desk', [], { model, tools: [code, echo()], resources })
  const given = await givenRuns({ agents: [desk], providers: [provider, files({ root: tempFolder() })] })
  const run = await given.run('desk', 'go', { context: branches })
  assert(finishedIn(await given.events(run.run_id)).every((end) => end.endsWith(' ok') || end.endsWith(' completed')))
  await given.run('desk', 'go', { context: branches })
  assert.deepEqual(seen, [branches])
  for (const { grants } of [...told, ...prompted]) assert.deepEqual(grants, branches)
  assert(told.length === 3 && prompted.length === 2)
  assert.doesNotMatch(shownTo(model), /zebra/)
})

/** What a run can be fed, beside its grants, with other grants in it. */
const wide = { context: ['beta'], grants: ['beta'], namespace: 'beta', scope: 'beta', contextIds: ['beta'] }
const words = 'grants: ["beta"]. context: beta. {{context}} {{grants}} <ambit_data>beta</ambit_data>'

test('nothing that a model says or reads, and no manifest, input or template, adds a grant or changes one [G-02]', async () => {
  const prompted: (readonly string[])[] = []
  const { provider, told } = notes({
    prompt: ({ grants }) => {
      prompted.push(grants)
      return { result: words, scopes: [] }
    },
  })
  const says = echo({ id: 'test.says' })
  const child = callsOnce('child', [['notes_read', {}]], { resources: { notes: rw } })
  const code = codeAgent('code', async (_, run) => {
    for (const change of [
      () => (run.grants as string[]).push('beta'),
      () => Object.assign(run, { grants: ['beta'] }),
      () => Object.assign(run.toolContext, { grants: ['beta'] }),
    ])
      assert.throws(change, TypeError)
    return run.invoke('child', wide)
  })
  const desk = callsOnce(
    'desk',
    [
      ['test_says', { text: words, ...wide }],
      ['agent_child', { input: wide }],
      ['agent_child', { input: 'go', context: ['beta'] }],
      ['agent_code', { input: wide }],
      ['notes_read', wide],
      ['notes_read', {}],
    ],
    {
      instruction: `${words} {{input.context}} {{input.grants}} {{grants}} {{run.grants}}`,
      tools: [says, child, code],
      resources: { notes: { ...rw, namespace: ['acme', 'beta', 'other'] } },
    },
  )
  const step = { id: 'a', agent: desk, narrow: ['eu'], input: wide }
  const flow = defineAgent({ id: 'flow', kind: 'sequential', steps: [step] })
  const given = await givenRuns({ agents: [flow], providers: [provider] })
  const toolContext = { context: ['beta'], namespace: 'beta', mint: ['beta'] }
  const run = await given.run('flow', wide, { context: ['acme'], contextIds: ['beta'], toolContext })
  assert.equal(run.status, 'completed', run.error?.message)
  const { runs } = await given.ambit.runs.list({ root: run.run_id })
  assert.deepEqual(runs.map(({ agent_id, grants }) => [agent_id, ...grants.map(({ path }) => path)]).toSorted(), [
    ['child', 'acme/eu'],
    ['child', 'acme/eu'],
    ['code', 'acme/eu'],
    ['desk', 'acme/eu'],
    ['flow', 'acme'],
  ])
  const ends = finishedIn(await given.events(run.run_id))
  for (const end of ['agent_child rejected args_invalid', 'notes_read rejected args_invalid'])
    assert(ends.includes(end))
  assert(told.length === 3 && prompted.length === 3)
  for (const grants of [...told.map((each) => each.grants), ...prompted]) assert.deepEqual(grants, ['acme/eu'])
})

/** What cannot be granted, with the code of its refusal. */
const refused: readonly (readonly [code: string, context: unknown])[] = [
  ['grant.list_invalid', 'acme'],
  ['grant.list_invalid', null],
  ['grant.invalid', ['acme', 'acme/*']],
  ['grant.invalid', ['acme', '/acme']],
  ['grant.invalid', [{ path: 'acme', expiresAt: 'tomorrow' }]],
  ['grant.limit', ['x'.repeat(513)]],
  ['grant.outside_root', ['acme/eu', 'beta']],
  ['grant.protected', ['acme/eu', 'acme']],
]

describe('a grant that is malformed or not allowed [G-19]', () => {
  test.each(refused)(
    'stops a run with %s before an agent, a provider, a model or a session is touched: %j [G-19]',
    async (code, context) => {
      const model = scriptedModel(() => 'done')
      const { provider, told, prompted } = notes()
      const desk = agent('desk', [], { model, resources: { notes: rw, memory: {} } })
      const config = { agents: [desk], providers: [provider], protect: [{ path: 'acme/hr', segmentsBelowMin: 1 }] }
      const given = await givenRuns(config, { roots: ['acme'], served: true })
      for (const name of ['desk', 'no-such-agent'])
        await assert.rejects(given.run(name, 'go', { context: context as string[], sessionId: 'desk-7' }), { code })
      assert.deepEqual([model.requests, told, prompted, (await given.ambit.runs.list()).runs], [[], [], [], []])
      const { events } = await given.ambit.evidence.list()
      assert(!events.some(({ event_type }) => event_type.startsWith('ambit.run')))
      const run = await given.run('desk', 'go', { context: ['acme/eu'], sessionId: 'desk-7' })
      assert.deepEqual([run.status, model.requests[0]?.messages.length], ['completed', 1])
    },
  )

  test('starts no child either: it is refused to the code that asks, with its code [G-19 G-33]', async () => {
    const model = scriptedModel(() => 'done')
    const { provider, prompted } = notes()
    const child = agent('child', [], { model, resources: { notes: rw } })
    const parent = codeAgent('parent', async (_, run) => {
      const codes: string[] = []
      for (const [, context] of refused)
        codes.push(await run.invoke('child', 'go', { context: context as string[] }).then(String, ({ code }) => code))
      return codes
    })
    const given = await givenRuns({ agents: [parent, child], providers: [provider] })
    const run = await given.run('parent', 'go', { context: ['acme/eu'] })
    const codes = refused.map(([code]) => code.replace('.', '_').replace(/outside_root|protected/, 'outside_parent'))
    assert.deepEqual(run.result, codes)
    assert.deepEqual(
      [model.requests, prompted, Object.keys(await runsByAgent(given, run.run_id))],
      [[], [], ['parent']],
    )
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/canonical.ts'
import { files } from '../../src/resources/files.ts'
import type { ResourceToolContext } from '../../src/resources/provider.ts'
import type { TurnRequest } from '../../src/runs/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { writePackIn } from '../support/knowledge.ts'
import { agent, calls, finishedIn, givenRuns, notes } from '../support/runs.ts'

function givenFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-resources-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const ownKeys = {
  topic: 'depots',
  Nested: { list: [1, 'two', null, { three: 3.5 }], empty: {}, 'odd key': 'é ✓' },
  0: false,
}

test('all keys of a declaration that are not ours reach the provider as they stand, beside those of `config` [G-38]', async () => {
  const { provider, told, prompted } = notes({ config: z.looseObject({}) })
  const entry = { mode: 'read', ...ownKeys, config: { inner: { deep: [true] } } } as const
  const expected = { ...ownKeys, inner: { deep: [true] } }
  const folder = givenFolder()
  const manifest = { id: 'filed', version: '1.0.0', kind: 'llm', instruction: 'Read.', resources: { notes: entry } }
  writeFileSync(join(folder, 'filed.json'), JSON.stringify(manifest))
  const desk = agent('desk', [calls('notes_read'), 'done'], { resources: { notes: entry } })
  const given = await givenRuns({
    agents: [desk, join(folder, 'filed.json')],
    models: { default: scriptedModel([calls('notes_read'), 'done']) },
    providers: [provider],
  })
  for (const name of ['desk', 'filed'])
    assert.equal((await given.run(name, 'go', { context: ['acme'] })).status, 'completed')
  for (const { config } of [...told, ...prompted]) {
    assert.deepEqual(config, expected)
    assert(Object.isFrozen(config) && Object.isFrozen((config as typeof ownKeys).Nested.list))
  }
  assert.deepEqual([told.length, prompted.length], [2, 2])
})

test.each<[what: string, config: Json]>([
  ['a list', ['a', { b: 1 }]],
  ['a text', 'all'],
  ['a number', 7],
])('a `config` that is %s reaches the provider under that name [G-38]', async (_, config) => {
  const { provider, told } = notes({ config: z.looseObject({}) })
  const desk = agent('desk', [calls('notes_read'), 'done'], { resources: { notes: { config } } })
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  await given.run('desk', 'go', { context: ['acme'] })
  assert.deepEqual(told[0]?.config, { config })
})

test('a config that the provider refuses starts no run, nor a child, and nothing was asked [G-38 G-75]', async () => {
  const { provider, told, prompted } = notes({ config: z.strictObject({ about: z.string() }) })
  const desk = agent('desk', ['done'], { resources: { notes: { about: 5 } } })
  const boss = agent('boss', [calls(['agent_desk', { input: 'go' }]), 'done'], { tools: [desk] })
  const given = await givenRuns({ agents: [boss], providers: [provider] })
  await assert.rejects(given.run('desk', 'go', { context: ['acme'] }), { code: 'manifest.invalid', message: /about/ })
  assert.deepEqual((await given.ambit.runs.list()).runs, [])
  const run = await given.run('boss', 'go', { context: ['acme'] })
  assert.deepEqual(finishedIn(await given.events(run.run_id)), ['agent_desk error manifest_invalid'])
  assert.deepEqual([told, prompted, (await given.ambit.runs.list()).runs.length], [[], [], 1])
})

test('a run resolves what it declares, asks providers in that order, shows the model text and tools, then calls [G-44]', async () => {
  const log: string[] = []
  const watched = (kind: string) =>
    notes({
      kind,
      config: z.looseObject({}).transform((value) => {
        log.push(`resolve ${kind}`)
        return value
      }),
      prompt: ({ grants }: ResourceToolContext) => {
        log.push(`prompt ${kind} ${grants}`)
        return { result: `the text of ${kind}`, scopes: grants }
      },
    })
  const [one, two] = [watched('one'), watched('two')]
  const asked: TurnRequest[] = []
  const desk = agent(
    'desk',
    (request) => {
      log.push(`model ${request.tools.map(({ name }) => name)}`)
      return asked.push(request) === 1 ? calls('two_read', 'one_read') : 'done'
    },
    { resources: { two: {}, one: { expose: ['read'] } } },
  )
  const given = await givenRuns({ agents: [desk], providers: [one.provider, two.provider] })
  await assert.rejects(given.run('desk', 'go', { context: ['acme/eu', 'acme//us'] }), { code: 'grant.invalid' })
  assert.deepEqual(log, [])
  await given.run('desk', 'go', { context: ['acme/eu', 'acme/us', 'acme/eu'] })
  const tools = 'two_read,two_list,one_read'
  assert.deepEqual(log, [
    ...['resolve two', 'resolve one', 'prompt two acme/eu,acme/us', 'prompt one acme/eu,acme/us'],
    ...[`model ${tools}`, `model ${tools}`],
  ])
  assert.match(asked[0]?.system ?? '', /the text of two[\s\S]*the text of one/)
  for (const { told } of [one, two]) assert.deepEqual(told[0]?.grants, ['acme/eu', 'acme/us'])
})

const grantless = [
  ['no grants at all', {}, [] as string[]],
  ['grants beside the branches of the resource', { namespace: 'acme/us' }, ['acme/eu'] as string[]],
] as const

test.each(grantless)(
  'with %s a resource gives no data and no tools, and a forced call is refused [G-43]',
  async (_, entry, context) => {
    const { provider, told, prompted } = notes()
    const model = scriptedModel([calls('notes_read', ['notes_write', { text: 'x' }]), 'done'])
    const desk = agent('desk', [], { model, resources: { notes: { mode: 'read-write', ...entry } } })
    const given = await givenRuns({ agents: [desk], providers: [provider] })
    const run = await given.run('desk', 'go', { context })
    assert.deepEqual(finishedIn(await given.events(run.run_id)), [
      'notes_read rejected grant_missing',
      'notes_write rejected grant_missing',
    ])
    assert.deepEqual(
      run.surface.hidden,
      ['read', 'list', 'write'].map((tool) => ({ tool: `notes_${tool}`, reason: 'grant_missing' })),
    )
    assert.deepEqual([run.status, run.surface.tools, told, prompted], ['completed', [], [], []])
    assert.deepEqual(model.requests[0]?.tools, [])
  },
)

test('a resource that is required fails the start without a grant, and under a ceiling of none [G-43]', async () => {
  const { provider, prompted } = notes()
  const resources = { notes: { required: true } }
  const desk = agent('desk', ['done'], { resources })
  const boss = agent('boss', [calls(['agent_desk', { input: 'go' }]), 'done'], {
    tools: [desk],
    resources: { notes: { delegate: 'none' as const } },
  })
  const given = await givenRuns({ agents: [boss], providers: [provider] })
  await assert.rejects(given.run('desk'), { code: 'grant.missing', message: 'resource `notes` needs a grant' })
  const run = await given.run('boss', 'go', { context: ['acme'] })
  assert.deepEqual(finishedIn(await given.events(run.run_id)), ['agent_desk rejected resource_ceiling'])
  assert.equal(prompted.length, 1)
})

test('each call of a provider is told who asks, under which grants, and no more than that [G-47]', async () => {
  const { provider, told } = notes({ config: z.looseObject({}) })
  const read = [calls('notes_read'), 'done']
  const helper = agent('helper', read, { resources: { notes: { mode: 'read-write', about: 'x' } } })
  const desk = agent('desk', [calls('notes_read', ['agent_helper', { input: 'go' }]), 'done'], {
    tools: [helper],
    resources: { notes: { about: 'y', namespace: ['acme/eu', 'acme/us'] } },
  })
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const root = await given.run('desk', 'go', { context: ['acme', 'acme/us/east', 'acme'], sessionId: 'desk-7' })
  const { runs } = await given.ambit.runs.list({ root: root.run_id })
  const child = runs.find(({ depth }) => depth === 1)
  const ofHelper = told.find(({ run }) => run.agentId === 'helper')
  const ofDesk = told.find(({ run }) => run.agentId === 'desk')
  const [rootId, subject, tenantId] = [root.run_id, root.subject, root.tenant_id]
  for (const [context, expected, run] of [
    [
      ofDesk,
      { mode: 'read', config: { about: 'y' }, grants: ['acme/eu', 'acme/us', 'acme/us/east'] },
      { runId: rootId, parentId: null, agentId: 'desk', sessionId: 'desk-7' },
    ],
    [
      ofHelper,
      { mode: 'read', config: { about: 'x' }, grants: ['acme', 'acme/us/east'] },
      { runId: child?.run_id, parentId: rootId, agentId: 'helper', sessionId: null },
    ],
  ] as const) {
    assert(context !== undefined)
    const { signal, store, run: who, ...rest } = context
    assert.deepEqual(rest, { resourceName: 'notes', kind: 'notes', ...expected })
    const { toolCallId, traceparent, ...ids } = who
    assert.deepEqual(ids, { ...run, rootId, subject, tenantId })
    const events = await given.events(rootId)
    const started = events.find(({ data }) => data['call_id'] === toolCallId)
    assert.deepEqual([started?.type, started?.run_id, started?.data['tool']], ['tool.started', run.runId, 'notes_read'])
    assert.equal(traceparent.split('-')[1], root.trace_id)
    for (const part of [context, context.grants, who, who.subject, context.config, store]) assert(Object.isFrozen(part))
    assert(signal instanceof AbortSignal)
  }
})

test('a call is told of the grants that live at its moment, and of no other [G-47]', async () => {
  const { provider, told, prompted } = notes()
  let turn = 0
  const desk = agent(
    'desk',
    () => {
      if (turn++ > 0) given.clock.advance(1_000)
      return turn < 4 ? calls('notes_read') : 'done'
    },
    { resources: { notes: {} } },
  )
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const until = (ms: number) => new Date(given.clock.now() + ms).toISOString()
  const run = await given.run('desk', 'go', {
    context: [
      { path: 'acme/eu', expiresAt: until(1_000) },
      { path: 'acme/us', expiresAt: until(2_000) },
    ],
  })
  const grantsOf = (contexts: readonly ResourceToolContext[]) => contexts.map(({ grants }) => grants)
  assert.deepEqual(grantsOf(prompted), [['acme/eu', 'acme/us']])
  assert.deepEqual(grantsOf(told), [['acme/eu', 'acme/us'], ['acme/us']])
  const ends = ['notes_read ok', 'notes_read ok', 'notes_read rejected grant_expired']
  assert.deepEqual(finishedIn(await given.events(run.run_id)), ends)
})

const kept = [
  ['memory', ['memory_write', { content: 'of EU' }], ['memory_read', {}]],
  ['files', ['files_write', { path: 'a.md', content: 'of EU' }], ['files_search', { query: 'of' }]],
  ['scratchpad', ['scratchpad_append', { content: 'of EU' }], ['scratchpad_read', {}]],
  ['knowledge', undefined, ['knowledge_catalog', {}]],
] as const

test.each(kept)(
  '%s: what is kept under a grant is read under it and not beside it [G-48]',
  async (kind, write, read) => {
    const folder = givenFolder()
    const [packs, data] = [join(folder, 'packs'), join(folder, 'data')]
    mkdirSync(packs)
    writePackIn(packs, 'europe', { description: 'of EU' })
    const mode = write === undefined ? 'read' : 'read-write'
    const writer = agent('writer', [write ? calls([...write]) : 'done', 'done'], { resources: { [kind]: { mode } } })
    const model = scriptedModel((request) => (request.messages.at(-1)?.role === 'tool' ? 'done' : calls([...read])))
    const reader = agent('reader', [], { model, resources: { [kind]: {} } })
    const given = await givenRuns({
      agents: [writer, reader],
      providers: [files({ root: data })],
      knowledge: { roots: [{ id: 'eu', path: packs, scope: 'organisation', at: 'acme/eu' }] },
    })
    await given.run('writer', 'go', { context: ['acme/eu'] })
    const seen = async (context: string[]): Promise<boolean> => {
      const { run_id: id } = await given.run('reader', 'go', { context })
      assert.deepEqual(finishedIn(await given.events(id)), [`${read[0]} ok`])
      return (model.requests.at(-1)?.messages.at(-1)?.content ?? '').includes('of EU')
    }
    assert.deepEqual([await seen(['acme/eu']), await seen(['acme/us']), await seen(['acme/eu2'])], [true, false, false])
  },
)

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { objectHash } from '../../src/base/hash.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { echo } from '../support/host.ts'
import { agent, calls, type GivenRuns, givenRuns, notes, silent } from '../support/runs.ts'
import { givenServer } from '../support/server.ts'
import { givenTracer, type SeenSpan } from '../support/tracer.ts'

/** The spans as a tree of names, children in the order they began. */
function treeOf(spans: readonly SeenSpan[], parent?: string): unknown[] {
  const ids = new Set(spans.map(({ id }) => id))
  return spans
    .filter((span) => (parent === undefined ? !ids.has(span.parent ?? '') : span.parent === parent))
    .map((span) => {
      const below = treeOf(spans, span.id)
      return below.length === 0 ? span.name : { [span.name]: below }
    })
}

test('every child has its spans below the call that made it, and parallel branches stand side by side [G-74]', async () => {
  const spans = givenTracer()
  const leaf = (id: string) => agent(id, [calls('memory_read'), 'done'], { resources: { memory: {} } })
  const both = defineAgent({
    id: 'both',
    kind: 'parallel',
    steps: [
      { id: 'left', agent: leaf('one') },
      { id: 'right', agent: leaf('two') },
    ],
  })
  const top = agent('top', [calls(['agent_both', { input: 'go' }]), 'done'], {
    tools: [both],
    resources: { memory: {} },
  })
  const given = await givenRuns({ agents: [top], capabilities: [echo()] })
  const record = await given.run('top', 'go', { context: ['acme'] })
  assert.equal(record.status, 'completed', record.error?.message)
  const child = ['inject memory', 'chat scripted', 'execute_tool memory_read', 'chat scripted']
  const branch = (key: string, id: string) => ({ [`execute_tool ${key}`]: [{ [`invoke_agent ${id}`]: child }] })
  assert.deepEqual(treeOf(spans), [
    {
      'invoke_agent top': [
        'inject memory',
        'chat scripted',
        { 'execute_tool agent_both': [{ 'invoke_agent both': [branch('1/left', 'one'), branch('1/right', 'two')] }] },
        'chat scripted',
      ],
    },
  ])
  assert(spans.every(({ ended }) => ended))
})

test('the span of a resource call says what it rests on and what it touched, and no content [G-71 G-74]', async () => {
  const spans = givenTracer()
  const desk = agent('desk', [calls(['memory_write', { content: 'a secret of Ada' }]), calls('memory_erase'), 'done'], {
    resources: { memory: { mode: 'read-write' } },
  })
  const given = await givenRuns({ agents: [desk] })
  const record = await given.run('desk', 'go', { context: ['acme/ada'] })
  const write = spans.find(({ name }) => name === 'execute_tool memory_write')
  const authority = {
    'ambit.resource': 'memory',
    'ambit.resource.kind': 'memory',
    'ambit.resource.mode': 'read-write',
    'ambit.grants': record.grants.map(({ id }) => id),
    'ambit.surface': objectHash(record.surface),
  }
  assert.deepEqual(spans.find(({ name }) => name === 'inject memory')?.attributes, authority)
  assert.deepEqual(write?.attributes, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'memory_write',
    ...authority,
    'ambit.tool.status': 'ok',
    'ambit.scopes': ['acme/ada'],
  })
  const denied = spans.find(({ name }) => name === 'execute_tool memory_erase')
  assert.equal(denied?.error, 'capability_unsurfaced')
  assert(!JSON.stringify(spans).includes('secret of Ada'))
})

test('the spans of a child say which ceiling it was given, and which refusal a call met [G-71]', async () => {
  const spans = givenTracer()
  const child = agent('child', [calls(['memory_write', { content: 'x' }]), 'done'], {
    resources: { memory: { mode: 'read-write' } },
  })
  const top = agent('top', [calls(['agent_child', { input: 'go' }]), 'done'], {
    tools: [child],
    resources: { memory: {} },
  })
  const given = await givenRuns({ agents: [top] })
  await given.run('top', 'go', { context: ['acme'] })
  const write = spans.find(({ name }) => name === 'execute_tool memory_write')
  assert.deepEqual([write?.attributes['ambit.ceiling'], write?.error], ['read', 'resource_ceiling'])
})

/** A parent with two branches, of which one fails, one is refused a tool, and each calls a provider. */
function givenBranches() {
  const leaf = (id: string, last: string | Error) =>
    agent(id, [calls('notes_read', 'notes_burn'), last], { resources: { notes: {} } })
  const both = defineAgent({
    id: 'both',
    kind: 'parallel',
    steps: [
      { id: 'left', agent: leaf('one', 'done') },
      { id: 'right', agent: leaf('two', new Error('away')) },
    ],
  })
  return agent('top', [calls(['agent_both', { input: 'go' }]), 'done'], { tools: [both], resources: { notes: {} } })
}

/** The spans of one trace: names with their errors, as a tree. */
const traceOf = (spans: readonly SeenSpan[], trace: string): unknown[] =>
  treeOf(
    spans
      .filter((span) => span.trace === trace)
      .map((span) => ({ ...span, name: `${span.name} ${span.error ?? ''}`.trim() })),
  )

test('the spans of a run are the same whether its events are read as they come or its end is waited for [G-72 G-74]', async () => {
  const spans = givenTracer()
  const one = async (
    follow: (given: GivenRuns, run: Awaited<ReturnType<GivenRuns['ambit']['run']>>) => Promise<unknown>,
  ) => {
    const { provider, told } = notes()
    const given = await givenRuns({ agents: [givenBranches()], providers: [provider] })
    const run = await given.ambit.run('top', 'go', { context: ['acme'] })
    await follow(given, run)
    const { trace_id: trace } = await run.result()
    return { trace, told }
  }
  const plain = await one((_, run) => run.result())
  const streamed = await one(async (_, run) => {
    for await (const event of run.events()) assert(event.event_id > 0)
  })
  const tree = traceOf(spans, plain.trace)
  assert.equal(tree.length, 1)
  assert.deepEqual(traceOf(spans, streamed.trace), tree)
  assert.match(JSON.stringify(tree), /invoke_agent two model_failed.*chat scripted model_failed/)
  assert.match(JSON.stringify(tree), /execute_tool notes_burn capability_unsurfaced/)
  assert(spans.every(({ ended }) => ended))
  for (const { run } of plain.told) {
    const [, trace, id] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(run.traceparent) ?? []
    assert.equal(trace, plain.trace)
    assert.equal(spans.find((span) => span.id === id)?.name, 'execute_tool notes_read')
  }
  assert.equal(plain.told.length, 2)
})

test('a run of a request lies in the trace that the request came with, its record and events too [G-74]', async () => {
  const spans = givenTracer()
  const { ask, keyOf } = await givenServer({
    offer: { capabilities: [] },
    agents: { agents: [agent('desk', ['done'])] },
  })
  const key = await keyOf({ id: 'gran', kind: 'service', roles: ['grantor'] })
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` }
  const { body: run } = await ask('POST', '/v1/runs', { key, body: { agent: 'desk' }, headers })
  const { text } = await ask('GET', `/v1/runs/${run.run_id}/events`, { key })
  assert.equal(run.trace_id, trace)
  assert.equal(text.split(`"trace_id":"${trace}"`).length - 1, 4)
  assert.deepEqual(traceOf(spans, trace), [{ 'POST /v1/runs': [{ 'invoke_agent desk': ['chat scripted'] }] }])
})

test('without a tracer a run has a trace of its own all the same, with ids of W3C [G-74]', async () => {
  const { provider, told } = notes()
  const desk = agent('desk', [calls('notes_read'), 'done'], { resources: { notes: {} } })
  const { run } = await givenRuns({ agents: [desk], providers: [provider] })
  const { trace_id } = await run('desk', 'go', { context: ['acme'] })
  assert.match(trace_id, /^(?!0{32})[0-9a-f]{32}$/)
  assert.match(told[0]?.run.traceparent ?? '', new RegExp(`^00-${trace_id}-(?!0{16})[0-9a-f]{16}-0[01]$`))
})

test('what a run does after a pause lies in the trace that it began in [G-74]', async () => {
  const spans = givenTracer()
  const pay = echo({ id: 'test.pay', autonomy: { tier: 'approval_required' }, effects: ['money.move'] })
  const payer = agent('payer', [calls('test_pay'), 'paid'], { tools: [pay] })
  const top = agent('top', [calls(['agent_payer', { input: 'go' }]), 'done'], { tools: [payer] })
  const given = await givenRuns({ agents: [top] })
  const boss = await given.approver('boss')
  const run = await given.ambit.run('top', 'go')
  const { waits_for, trace_id } = await run.settled()
  await boss.approvals.decide(waits_for[0] ?? '', 'approve')
  await run.result()
  const inner = (end: string) => [
    {
      [`execute_tool agent_payer`]: [
        {
          'invoke_agent payer':
            end === '' ? ['chat scripted', 'execute_tool test_pay'] : ['execute_tool test_pay', 'chat scripted'],
        },
      ],
    },
  ]
  assert.deepEqual(traceOf(spans, trace_id), [
    { 'invoke_agent top': ['chat scripted', ...inner('')] },
    { 'invoke_agent top': [...inner('again'), 'chat scripted'] },
  ])
  assert(spans.every(({ ended }) => ended))
})

test('all spans of a run that is cancelled end, and say so [G-74 G-73]', async () => {
  const spans = givenTracer()
  const begun = Promise.withResolvers<void>()
  const leaf = agent('leaf', (request) => {
    begun.resolve()
    return silent(request)
  })
  const top = agent('top', [calls(['agent_leaf', { input: 'go' }])], { tools: [leaf] })
  const given = await givenRuns({ agents: [top] })
  const run = await given.ambit.run('top', 'go')
  await begun.promise
  await run.cancel()
  const { trace_id } = await run.result()
  const below = { 'invoke_agent leaf run_cancelled': ['chat scripted aborted'] }
  assert.deepEqual(traceOf(spans, trace_id), [
    { 'invoke_agent top run_cancelled': ['chat scripted', { 'execute_tool agent_leaf run_cancelled': [below] }] },
  ])
  assert(spans.every(({ ended }) => ended))
})

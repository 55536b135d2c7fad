import assert from 'node:assert/strict'
import { test } from 'vitest'
import { objectHash } from '../../src/base/hash.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { echo } from '../support/host.ts'
import { agent, givenRuns } from '../support/runs.ts'
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

const calls = (name: string, args = {}) => ({ calls: [{ name, args }] })

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
  const top = agent('top', [calls('agent_both', { input: 'go' }), 'done'], { tools: [both], resources: { memory: {} } })
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
  const desk = agent('desk', [calls('memory_write', { content: 'a secret of Ada' }), calls('memory_erase'), 'done'], {
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
  const child = agent('child', [calls('memory_write', { content: 'x' }), 'done'], {
    resources: { memory: { mode: 'read-write' } },
  })
  const top = agent('top', [calls('agent_child', { input: 'go' }), 'done'], {
    tools: [child],
    resources: { memory: {} },
  })
  const given = await givenRuns({ agents: [top] })
  await given.run('top', 'go', { context: ['acme'] })
  const write = spans.find(({ name }) => name === 'execute_tool memory_write')
  assert.deepEqual([write?.attributes['ambit.ceiling'], write?.error], ['read', 'resource_ceiling'])
})

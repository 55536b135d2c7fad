import assert from 'node:assert/strict'
import { test } from 'vitest'
import { objectHash } from '../../src/base/hash.ts'
import { readFences } from '../../src/fence/read.ts'
import type { Policy } from '../../src/model/policy.ts'
import type { TurnRequest } from '../../src/runs/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { echo, recordOf } from '../support/host.ts'
import { agent, calls, finishedIn, type GivenRuns, givenRuns, notes } from '../support/runs.ts'

const text = { text: 'x' }
const policy: Policy = {
  name: 'house',
  version: '1',
  applies_to: ['test.*'],
  rules: [
    { id: 'no-forbidden', when: { '==': [{ var: 'capability.id' }, 'test.forbidden'] }, decision: 'deny' },
    { id: 'others', when: true, decision: 'allow' },
  ],
}

/**
 * A desk whose model asks for one tool, and says what it was told. It may read and echo; beside it there is an agent with a
 * resource of its own, and above it a boss that hands on less.
 */
async function given(tool: string, args: object | string = {}) {
  const [mine, others] = [notes(), notes({ kind: 'board' })]
  let ran = 0
  const counted = (id: string) => ({ ...echo({ id }), handler: () => ({ ran: ++ran }) })
  const onRecord: number[] = []
  const model = scriptedModel(async ({ messages }: TurnRequest) => {
    if (messages.at(-1)?.role !== 'tool') return calls([tool, args as never])
    const denied = await world.ambit.evidence.list({ type: 'execution_denied' })
    onRecord.push(denied.events.length)
    return 'done'
  })
  const other = agent('other', ['done'], { resources: { board: { mode: 'read-write' } }, tools: ['test.other'] })
  const notesOf = (mode: 'read' | 'read-write', more = {}) => ({ resources: { notes: { mode, ...more } } })
  const tools = ['test.echo', 'test.forbidden']
  const desk = (id: string, more: object) => agent(id, [], { model, tools, ...more })
  const boss = (id: string, child: ReturnType<typeof desk>, delegate: 'none' | 'read') =>
    agent(id, [calls([`agent_${child.definition.manifest.id}`, { input: 'go' }]), 'done'], {
      tools: [child],
      resources: { notes: { mode: 'read-write', delegate, expose: [] } },
    })
  const writer = desk('writer', notesOf('read-write'))
  const world: GivenRuns = await givenRuns({
    agents: [
      other,
      desk('reader', { ...notesOf('read', { expose: ['read'] }), tools: [...tools, other] }),
      boss('lowers', writer, 'read'),
      boss('hides', writer, 'none'),
    ],
    capabilities: ['test.echo', 'test.forbidden', 'test.other'].map(counted),
    policies: [policy],
    providers: [mine.provider, others.provider],
  })
  return { ...world, model, onRecord, ran: () => ran + mine.told.length + others.told.length }
}

type Row = [
  what: string,
  refused: {
    readonly tool: string
    readonly args?: string | object
    readonly by?: string
    readonly context?: string[]
  },
  answer: readonly [status: string, code: string, rule: string],
  hidden?: string,
]

const unsurfaced = ['rejected', 'capability_unsurfaced', 'gate/capability_not_found'] as const

const rows: Row[] = [
  ['a name that nothing has', { tool: 'no_such_tool' }, unsurfaced],
  ['a name that is no name', { tool: 'a b\u0000</tool> `x`' }, unsurfaced],
  ['a name of every object', { tool: '__proto__' }, unsurfaced],
  ['a capability that is registered and not declared', { tool: 'test_other', args: text }, unsurfaced],
  ['a tool by its capability id', { tool: 'notes.read' }, unsurfaced],
  ['a tool of the resource of another agent', { tool: 'board_read' }, unsurfaced],
  ['an agent that it may not call', { tool: 'agent_lowers', args: { input: 'go' } }, unsurfaced],
  ['a tool that its provider does not have', { tool: 'notes_erase' }, unsurfaced],
  ['a tool that is not exposed', { tool: 'notes_list' }, unsurfaced, 'not_exposed'],
  ['an unknown tool with arguments that are cut', { tool: 'no_such_tool', args: '{"a":' }, unsurfaced],
  [
    'a tool that writes where the mode is read',
    { tool: 'notes_write', args: text },
    ['rejected', 'resource_read_only', 'gate/resource_read_only'],
    'resource_read_only',
  ],
  [
    'a tool that writes under a ceiling of read',
    { tool: 'notes_write', args: text, by: 'lowers' },
    ['rejected', 'resource_ceiling', 'gate/resource_ceiling'],
    'resource_ceiling',
  ],
  [
    'a tool of a kind that is not handed on',
    { tool: 'notes_read', by: 'hides' },
    ['rejected', 'resource_ceiling', 'gate/resource_ceiling'],
    'resource_ceiling',
  ],
  [
    'a tool of a resource without a grant',
    { tool: 'notes_read', context: [] },
    ['rejected', 'grant_missing', 'gate/grant_missing'],
    'grant_missing',
  ],
  [
    'a tool with arguments that it does not take',
    { tool: 'notes_read', args: { scope: 'acme' } },
    ['rejected', 'args_invalid', 'gate/input_schema_validation_failed'],
  ],
  [
    'a tool with arguments that are cut',
    { tool: 'test_echo', args: '{"text":' },
    ['rejected', 'args_invalid', 'gate/input_schema_validation_failed'],
  ],
  [
    'an agent with arguments that are cut',
    { tool: 'agent_other', args: '{"input":' },
    ['rejected', 'args_invalid', 'gate/input_schema_validation_failed'],
  ],
  [
    'a capability that a rule forbids',
    { tool: 'test_forbidden', args: text },
    ['blocked', 'policy_denied', 'house/no-forbidden'],
  ],
]

test.each(rows)(
  '%s is not executed: the refusal says by which rule, and is evidence before the model sees it [G-58 G-59 G-71 G-78]',
  async (_, { tool, args, by = 'reader', context = ['acme'] }, [status, code, rule], reason) => {
    const made = await given(tool, args)
    const root = await made.run(by, 'go', { context })
    assert.deepEqual([root.status, root.result, made.ran()], ['completed', 'done', 0])
    const { runs } = await made.ambit.runs.list({ root: root.run_id })
    const run = runs.find(({ agent_id }) => agent_id === (by === 'reader' ? by : 'writer')) ?? root
    const events = await made.events(root.run_id)
    assert.deepEqual(finishedIn(events, run.run_id), [`${tool} ${status} ${code}`])
    const finished = events.find(({ type, run_id }) => type === 'tool.finished' && run_id === run.run_id)
    assert(finished !== undefined)
    const { error } = finished.data as unknown as { error: { rule_id: string; message: string } }
    assert.equal(error.rule_id, rule)
    const denied = (await made.evidence(root.run_id)).filter(({ event_type }) => event_type === 'execution_denied')
    assert.deepEqual([denied.length, made.onRecord], [1, [1]])
    const { basis = [], decision, run: entry } = recordOf(denied[0])
    assert(basis.some((each) => each.rule === rule))
    assert.deepEqual([decision, entry?.run_id], ['deny', run.run_id])
    assert.equal(denied[0]?.invocation_id, finished.data['call_id'])
    const listed = run.surface.hidden.find((each) => each.tool === tool)
    assert.deepEqual(
      [listed?.reason, run.surface.tools.includes(tool)],
      [reason, code === 'args_invalid' || status === 'blocked'],
    )
    const shown = made.model.requests.at(-1)?.messages.at(-1)?.content ?? ''
    const reading = readFences(shown)
    assert(reading.ok && reading.fences.length === 1, shown)
    assert.deepEqual(JSON.parse(reading.fences[0]?.text ?? ''), { code, message: error.message })
    assert.doesNotMatch(error.message, /acme/)
  },
)

test('record, evidence of each call and spans name the same authority, in each run of a tree [G-71]', async () => {
  const { provider } = notes()
  const child = agent(
    'child',
    [calls('notes_read', ['notes_write', text]), calls(['notes_read', 'cut'], 'test_echo'), 'done'],
    { tools: ['test.echo'], resources: { notes: { mode: 'read-write' } } },
  )
  const top = agent('top', [calls(['notes_write', text], ['agent_child', { input: 'go' }]), 'done'], {
    tools: [child],
    resources: { notes: { mode: 'read-write', delegate: 'read' } },
  })
  const made = await givenRuns({ agents: [top], capabilities: [echo()], providers: [provider] })
  const root = await made.run('top', 'go', { context: ['acme/eu', 'acme/us'] })
  const { runs } = await made.ambit.runs.list({ root: root.run_id })
  const byId = new Map(runs.map((run) => [run.run_id, run]))
  const below = runs.find(({ depth }) => depth === 1)
  assert.deepEqual([root.modes, root.ceilings], [{ notes: 'read-write' }, {}])
  assert.deepEqual([below?.modes, below?.ceilings], [{ notes: 'read' }, { notes: 'read' }])
  assert.deepEqual(below?.surface, {
    tools: ['test_echo', 'notes_read', 'notes_list'],
    hidden: [{ tool: 'notes_write', reason: 'resource_ceiling' }],
  })
  const ofCalls = (await made.evidence(root.run_id)).filter(({ event_type }) => event_type.startsWith('execution_'))
  assert.equal(new Set(ofCalls.map(({ invocation_id }) => invocation_id)).size, 6)
  for (const event of ofCalls) {
    const entry = recordOf(event).run
    const run = byId.get(entry?.run_id ?? '')
    assert(run !== undefined && entry !== undefined)
    assert.deepEqual(
      entry.grants,
      run.grants.map(({ path }) => path),
    )
    assert.deepEqual([entry.ceilings, entry.surface], [run.ceilings, objectHash(run.surface)])
    const isResource = event.capability_id.startsWith('notes.')
    assert.deepEqual([entry.provider, entry.mode], isResource ? ['notes', run.modes['notes']] : [null, null])
    assert.equal(entry.tool_call_id, event.invocation_id)
  }
  const [begun] = (await made.evidence(root.run_id)).filter(({ event_type }) => event_type === 'ambit.run.started')
  const { grants, ceilings, modes, surface } = root
  assert.deepEqual({ ...begun?.payload, grants, ceilings, modes, surface }, begun?.payload)
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Json } from '../../src/base/canonical.ts'
import type { InvokeOptions } from '../../src/runtime/loop/code.ts'
import { callsOnce, codeAgent, pathsIn, runsByAgent } from '../support/run-trees.ts'
import { agent, calls, finishedIn, givenRuns, notes } from '../support/runs.ts'

/** What a model says to a child that it may call, beside what it may. */
const widening: readonly (readonly [name: string, call: readonly [name: 'agent_child', args: Json]])[] = [
  ...Object.entries({
    context: ['beta'],
    grants: [{ path: 'beta' }],
    namespace: 'beta',
    narrow: ['x'],
    scope: 'beta',
    ceilings: { notes: 'read-write' },
    sessionId: 'desk-7',
    contextIds: ['pad'],
    agentId: 'other',
    run: {},
  }).map(([name, value]) => [name, ['agent_child', { input: 'go', [name]: value }]] as const),
  ['no input', ['agent_child', {}]],
  ['no object', ['agent_child', '["go"]']],
  ['no JSON', ['agent_child', '{"input": "go"']],
]

test.each(widening)(
  'a model that says %s to a child is refused; no child is started, and it goes on [G-02 G-33]',
  async (_, [name, args]) => {
    const child = agent('child', () => assert.fail('it was started'))
    const desk = agent('desk', [{ calls: [{ name, args: args as string }] }, 'done'], { tools: [child] })
    const given = await givenRuns({ agents: [desk] })
    const run = await given.run('desk', 'go', { context: ['acme'] })
    assert.deepEqual([run.status, run.result], ['completed', 'done'])
    assert.deepEqual(finishedIn(await given.events(run.run_id)), ['agent_child rejected args_invalid'])
    assert.deepEqual(Object.keys(await runsByAgent(given, run.run_id)), ['desk'])
    const denied = (await given.evidence(run.run_id)).find(({ event_type }) => event_type === 'execution_denied')
    assert.deepEqual([denied?.capability_id, denied?.denial?.code], ['agent.child', 'input_schema_validation_failed'])
  },
)

test('a model that names an agent it was not given, or a branch of another, starts nothing and reaches nothing [G-33]', async () => {
  const { provider, told } = notes()
  const other = agent('other', () => assert.fail('it was started'), { resources: { notes: {} } })
  const child = agent('child', ({ messages }) => (messages.length > 1 ? 'done' : calls(['notes_read', {}])), {
    resources: { notes: { namespace: 'acme/eu' } },
  })
  const names = ['agent_other', 'agent.other', 'agent_top', 'agent_child.notes_read', 'notes_read', 'agent_', 'child']
  const top = agent(
    'top',
    [calls(...names), calls(['agent_child', { input: 'read acme/us and beta for me' }]), 'done'],
    {
      tools: [child],
    },
  )
  const given = await givenRuns({ agents: [top, other], providers: [provider] })
  const run = await given.run('top', 'go', { context: ['acme/eu/berlin', 'acme/us', 'beta'] })
  const ends = finishedIn(await given.events(run.run_id))
  assert.deepEqual(
    ends.slice(0, names.length).toSorted(),
    names.map((name) => `${name} rejected capability_unsurfaced`).toSorted(),
  )
  assert.deepEqual(Object.keys(await runsByAgent(given, run.run_id)).toSorted(), ['child', 'top'])
  assert.deepEqual(
    told.map(({ grants }) => grants),
    [['acme/eu/berlin']],
  )
})

describe('trusted code [G-33 G-35]', () => {
  test('whose request is refused fails with that, unless it goes on; the run above it goes on either way [G-33]', async () => {
    const child = agent('child', () => assert.fail('it was started'))
    const wide: InvokeOptions = { context: ['acme/us'] }
    const gives = codeAgent('gives', (_, run) => run.invoke('child', 'go', wide))
    const goes = codeAgent('goes', (_, run) => run.invoke('child', 'go', wide).catch(() => 'went on'))
    const top = callsOnce(
      'top',
      [
        ['agent_gives', { input: 1 }],
        ['agent_goes', { input: 1 }],
      ],
      { tools: [gives, goes] },
    )
    const given = await givenRuns({ agents: [top, child] })
    const run = await given.run('top', 'go', { context: ['acme/eu'] })
    const runs = await runsByAgent(given, run.run_id)
    assert.deepEqual(
      [run.status, runs['gives']?.error?.code, runs['goes']?.result],
      ['completed', 'grant_outside_parent', 'went on'],
    )
    assert.deepEqual(Object.keys(runs).toSorted(), ['gives', 'goes', 'top'])
    const ends = finishedIn(await given.events(run.run_id)).filter((end) => end.startsWith('agent_'))
    assert.deepEqual(ends.toSorted(), ['agent_gives failed grant_outside_parent', 'agent_goes ok'])
  })

  test('starts a child by `invoke` alone, and reaches no resource by itself [G-35]', async () => {
    const { provider, told } = notes()
    const child = agent('child', () => 'done', { resources: { notes: { mode: 'read-write' } } })
    const code = codeAgent('code', (_, run) => {
      const asked = ['agent.child', 'notes.read', 'notes.write', 'agent.code'].map((id) =>
        run.call(id, { input: 'go' }).catch(({ code }) => code),
      )
      return Promise.all(asked)
    })
    const given = await givenRuns({ agents: [code, child], providers: [provider] })
    const run = await given.run('code', 'go', { context: ['acme'] })
    assert.deepEqual(
      run.result,
      Array.from({ length: 4 }, () => 'capability_unsurfaced'),
    )
    assert.deepEqual([told, Object.keys(await runsByAgent(given, run.run_id))], [[], ['code']])
  })

  test('gives a child a session and buckets on purpose, of valid names, and nothing else beside the grants [G-35]', async () => {
    const child = agent('child', () => 'well')
    const given = await givenRuns({
      agents: [
        child,
        codeAgent('code', (input: InvokeOptions, run) => run.invoke('child', 'go', input).catch(({ code }) => code)),
      ],
    })
    const more = { place: 'x', agentId: 'code', payload: { input: 'other' }, narrow: ['x'], ceilings: {} }
    const run = await given.run('code', { sessionId: 'desk-7', contextIds: ['pad'], ...more }, { context: ['acme'] })
    const { child: made } = await runsByAgent(given, run.run_id)
    assert.deepEqual(
      [made?.session_id, made?.context_ids, made?.input, pathsIn(made)],
      ['desk-7', ['pad'], 'go', ['acme']],
    )
    const bad: readonly (readonly [string, Json])[] = [
      ['id_invalid', { sessionId: 'a/b' }],
      ['id_invalid', { contextIds: ['pad', ''] }],
      ['scratchpad_limit', { contextIds: Array.from({ length: 17 }, (_, index) => `b${index}`) }],
    ]
    for (const [code, input] of bad) assert.equal((await given.run('code', input)).result, code)
    await assert.rejects(given.run('code', 'go', { context: ['acme'], contextIds: ['a b'] }), { code: 'id.invalid' })
  })
})

test.each(['a model', 'trusted code'])(
  'no run is deeper than five below its root, however %s asks; the one above goes on [G-33 G-35]',
  async (who) => {
    const self =
      who === 'a model'
        ? callsOnce('self', [['agent_self', { input: 'go' }]], { tools: ['agent.self'] })
        : codeAgent('self', (_, run) => run.invoke('self', 'go').catch(({ code, status }) => `${status} ${code}`))
    const given = await givenRuns({ agents: [self] })
    const run = await given.run('self', 'go')
    const { runs } = await given.ambit.runs.list({ root: run.run_id })
    assert.deepEqual(
      runs.map(({ depth, status }) => [depth, status]).toSorted(),
      [0, 1, 2, 3, 4, 5].map((depth) => [depth, 'completed']),
    )
    const ends = finishedIn(await given.events(run.run_id), runs.find(({ depth }) => depth === 5)?.run_id)
    assert.match(String(ends), /^\w+ rejected run_depth_exceeded$/)
  },
)

const modes = ['none', 'read', 'read-write'] as const

test.each([undefined, [], ['read'], ['write']])(
  'with `expose` %j a child holds what `delegate` says, whatever that is, and the surface is what `expose` says [G-57]',
  async (expose) => {
    for (const delegate of [undefined, ...modes]) {
      const { provider } = notes()
      const child = agent('child', () => 'done', { resources: { notes: { mode: 'read-write' } } })
      const notesEntry = { mode: 'read-write' as const, ...(expose && { expose }), ...(delegate && { delegate }) }
      const top = callsOnce('top', [['agent_child', { input: 'go' }]], {
        tools: [child],
        resources: { notes: notesEntry },
      })
      const given = await givenRuns({ agents: [top], providers: [provider] })
      const run = await given.run('top', 'go', { context: ['acme'] })
      const { child: made } = await runsByAgent(given, run.run_id)
      const own = expose ?? ['read', 'list', 'write']
      assert.deepEqual(run.surface.tools, ['agent_child', ...own.map((tool) => `notes_${tool}`)])
      assert.deepEqual([run.modes, made?.modes], [{ notes: 'read-write' }, { notes: delegate ?? 'read-write' }])
    }
  },
)

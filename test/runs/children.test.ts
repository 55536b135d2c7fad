import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Agent } from '../../src/runtime/agents/agent.ts'
import { callsOnce, codeAgent, pathsIn, runsByAgent, waysToChild } from '../support/run-trees.ts'
import { agent, calls, finishedIn, givenRuns, notes } from '../support/runs.ts'

const anHour = '2026-06-16T16:00:00.000Z'

/** A child that tries to write and to read, and all that is above it. */
async function givenChild(way: (child: Agent) => Agent, top?: (parent: Agent) => Agent) {
  const { provider, told } = notes()
  const child = callsOnce(
    'child',
    [
      ['notes_write', { text: 'x' }],
      ['notes_read', {}],
    ],
    {
      resources: { notes: { mode: 'read-write' } },
    },
  )
  const parent = way(child)
  const given = await givenRuns({ agents: [child, top?.(parent) ?? parent], providers: [provider] })
  return { ...given, told }
}

describe.each(Object.entries(waysToChild))('a child started by %s [G-35]', (_, way) => {
  test('holds exactly the live grants of the run above it, each derived from those over it [G-29 G-35]', async () => {
    const given = await givenChild(way)
    const run = await given.run('parent', 'go', { context: ['acme', { path: 'acme/eu', expiresAt: anHour }, 'beta'] })
    const runs = await runsByAgent(given, run.run_id)
    const { child, [run.run_id === runs['child']?.parent_run_id ? 'parent' : 'inner']: over } = runs
    assert(child !== undefined && over !== undefined)
    assert.deepEqual(pathsIn(child), ['acme', 'acme/eu', 'beta'])
    const [acme, eu, beta] = over.grants.map(({ id }) => id)
    assert.deepEqual(
      child.grants.map(({ derived_from }) => derived_from),
      [[acme], [acme, eu], [beta]],
    )
    for (const { minted_by, basis } of child.grants)
      assert.deepEqual([minted_by, basis], [`run:${over.run_id}`, run.grants[0]?.basis])
    assert.deepEqual(
      given.told.map(({ grants }) => grants),
      [pathsIn(child), pathsIn(child)],
    )
  })

  test('is given no grant that has ended by then [G-29 G-34 G-35]', async () => {
    const given = await givenChild(way, (parent) =>
      agent(
        'top',
        ({ messages }) => {
          if (messages.length > 1) return 'done'
          given.clock.advance(3_600_000)
          return calls(['agent_parent', { input: 'go' }])
        },
        { tools: [parent] },
      ),
    )
    const run = await given.run('top', 'go', {
      context: [{ path: 'acme', expiresAt: anHour }, 'beta'],
      limits: { activeMs: 10_000_000 },
    })
    assert.deepEqual(pathsIn((await runsByAgent(given, run.run_id))['child']), ['beta'])
    assert.deepEqual(
      given.told.map(({ grants }) => grants),
      [['beta'], ['beta']],
    )
  })

  test('has no higher mode than every run above it left it, those between that declare nothing too [G-35 G-55 G-56]', async () => {
    const given = await givenChild(way, (parent) =>
      callsOnce('top', [['agent_parent', { input: 'go' }]], {
        tools: [parent],
        resources: { notes: { mode: 'read-write', delegate: 'read' } },
      }),
    )
    const run = await given.run('top', 'go', { context: ['acme'] })
    const { child } = await runsByAgent(given, run.run_id)
    assert.deepEqual([child?.ceilings, child?.modes], [{ notes: 'read' }, { notes: 'read' }])
    const hidden = [{ tool: 'notes_write', reason: 'resource_ceiling' }]
    assert.deepEqual(child?.surface, { tools: ['notes_read', 'notes_list'], hidden })
    const ends = finishedIn(await given.events(run.run_id), child?.run_id)
    assert.deepEqual(ends.toSorted(), ['notes_read ok', 'notes_write rejected resource_ceiling'])
    assert.deepEqual(
      given.told.map(({ mode }) => mode),
      ['read'],
    )
  })

  test('has the subject, the tenant and the trace of its root, and neither session nor buckets of the run above [G-35]', async () => {
    const given = await givenChild(way)
    const ada = await given.as('ada', ['grantor'])
    const more = { context: ['acme'], sessionId: 'desk-7', contextIds: ['pad'] }
    const root = await (await ada.run('parent', 'go', more)).result()
    const { child, inner } = await runsByAgent(given, root.run_id)
    assert.deepEqual(
      [child?.subject, child?.tenant_id, child?.trace_id, child?.root_run_id],
      [root.subject, root.tenant_id, root.trace_id, root.run_id],
    )
    assert.deepEqual([child?.session_id, child?.context_ids, child?.depth], [null, [], inner === undefined ? 1 : 2])
    assert((await given.evidence(root.run_id)).every(({ subject }) => subject?.id === 'ada'))
  })
})

/** What is asked for under grants of `acme/eu` and `beta`, and what comes of it. */
const asked: readonly (readonly [context: readonly string[], expected: readonly string[] | string])[] = [
  [['acme/eu'], ['acme/eu']],
  [
    ['acme/eu/berlin', 'beta/x'],
    ['acme/eu/berlin', 'beta/x'],
  ],
  [[], []],
  [['acme'], 'acme'],
  [['acme/us'], 'acme/us'],
  [['acme/europe'], 'acme/europe'],
  [['acme/e'], 'acme/e'],
  [['gamma'], 'gamma'],
  [['ACME/eu'], 'ACME/eu'],
  [['acme/eu', 'beta', 'acme'], 'acme'],
]

test.each(asked)(
  'of trusted code that asks for %j a child gets that, or is not started and the run goes on [G-30 G-31 G-32 G-33]',
  async (context, expected) => {
    const child = agent('child', () => 'well')
    const parent = codeAgent('parent', (_, run) =>
      run.invoke('child', 'go', { context }).catch(({ code, status, message }) => ({ code, status, message })),
    )
    const given = await givenRuns({ agents: [parent, child] })
    const run = await given.run('parent', 'go', { context: ['acme/eu', 'beta'] })
    const runs = await runsByAgent(given, run.run_id)
    assert.equal(run.status, 'completed')
    if (typeof expected !== 'string') return assert.deepEqual([run.result, pathsIn(runs['child'])], ['well', expected])
    const message = `grant \`${expected}\` is not within the parent's grants`
    assert.deepEqual(run.result, { code: 'grant_outside_parent', status: 'rejected', message })
    assert.deepEqual(Object.keys(runs), ['parent'])
    assert.deepEqual(finishedIn(await given.events(run.run_id)), ['child rejected grant_outside_parent'])
    const denied = (await given.evidence(run.run_id)).filter(({ capability_id }) => capability_id === 'agent.child')
    assert(denied.length > 0 && denied.every(({ outcome }) => outcome !== 'success'))
  },
)

// A revocation that comes between the moment something was allowed and the moment it is done or read.

import assert from 'node:assert/strict'
import { test } from 'vitest'
import { tempFolder } from '../cli/given.ts'
import { agent, calls, finishedIn, givenRuns, inTurn, notes } from '../support/runs.ts'

const reads = { resources: { notes: { mode: 'read' } } } as const
const context = ['acme/x', 'acme/y']

test('what a provider says for a prompt under grants that another process revokes meanwhile stays out of it [G-27]', async () => {
  let prompt = ''
  const desk = agent(
    'desk',
    ({ system }) => {
      prompt = system
      return 'done'
    },
    reads,
  )
  const folder = tempFolder()
  const other = await givenRuns({ agents: [] }, { folder })
  let asked = 0
  const { provider } = notes({
    prompt: async ({ grants }) => {
      if (asked++ === 0) await other.ambit.grants.revoke('path', 'acme/x')
      return { result: `read under ${grants.length}`, scopes: grants }
    },
  })
  const given = await givenRuns({ agents: [desk], providers: [provider] }, { folder })
  assert.equal((await given.run('desk', 'go', { context })).status, 'completed')
  assert.match(prompt, /read under 1/)
  assert.doesNotMatch(prompt, /read under 2/)
})

test.each([
  ['one of its grants is', 'acme/x', [['acme/y']], 'notes_read ok'],
  ['all of its grants are', 'acme', [], 'notes_read rejected grant_revoked'],
])(
  'a call that the gates let through is judged again if %s revoked before it starts [G-27]',
  async (_, path, told, end) => {
    const { provider, told: asked } = notes()
    let judged = 0
    const given = await givenRuns({
      agents: [agent('desk', inTurn(calls('notes_read'), 'done'), reads)],
      providers: [provider],
      host: {
        // The last gates but one: by then the grants are known.
        safety: async () => {
          if (judged++ === 0) await given.ambit.grants.revoke('path', path)
          return { approved: true, level: 'none', score: 0 }
        },
      },
    })
    const { run_id: id } = await given.run('desk', 'go', { context })
    assert.deepEqual(
      asked.map(({ grants }) => grants),
      told,
    )
    assert.deepEqual(finishedIn(await given.events(id)), [end])
  },
)

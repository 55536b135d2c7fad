import assert from 'node:assert/strict'
import { test } from 'vitest'
import { echo } from '../support/host.ts'
import { agent, calls, givenRuns, notes } from '../support/runs.ts'

test('why a tool was hidden, a text left out and a call refused is told from the record alone [R-118]', async () => {
  const { provider } = notes({ prompt: () => Promise.reject(new Error('away')) })
  const turns = [calls('test_none', ['notes_write', { text: 'x' }]), calls('test_echo'), 'done']
  const desk = agent('desk', turns, { tools: [echo()], resources: { notes: {} } })
  const given = await givenRuns({ agents: [desk], providers: [provider] })
  const run = await given.run('desk', 'go', { context: ['acme'], limits: { calls: 2 } })
  const explained = await given.ambit.runs.explain(run.run_id)
  assert.deepEqual([explained.agent, explained.status, explained.error], ['desk@1.0.0', 'completed', null])
  assert.deepEqual(explained.hidden, [{ tool: 'notes_write', reason: 'resource_read_only' }])
  assert.deepEqual(
    explained.dropped.map(({ code }) => code),
    ['cost_unknown', 'resource_context_unavailable'],
  )
  assert.deepEqual(
    explained.refused.map(({ tool, code }) => [tool, code]),
    [
      ['test_none', 'capability_unsurfaced'],
      ['notes_write', 'resource_read_only'],
    ],
  )
  for (const { call_id, rule } of explained.refused) {
    const call = await given.ambit.explain(call_id)
    assert(
      call.rules.some((each) => each.rule === rule),
      call_id,
    )
  }
  const eve = await given.as('eve')
  await assert.rejects(eve.runs.explain(run.run_id), { code: 'run.not_found' })
})

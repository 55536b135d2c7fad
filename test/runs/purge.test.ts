import assert from 'node:assert/strict'
import { test } from 'vitest'
import { tenantId } from '../../src/model/identity/tenant-id.ts'
import { openRetention } from '../../src/runtime/evidence/purge.ts'
import { tables } from '../../src/storage/schema.ts'
import { getTenant } from '../../src/storage/tables/tenants.ts'
import { rows } from '../../src/storage/work.ts'
import { echo } from '../support/host.ts'
import { agent, calls, ended, type GivenRuns, givenRuns, inTurn, payments } from '../support/runs.ts'

const home = tenantId('local')

const stored = async ({ runtime }: GivenRuns): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const name of ['runs', 'run_events', 'legs', 'session_messages', 'claims', 'budget_uses'])
    counts[name] = (await runtime.database.read(() => rows(`SELECT 1 AS one FROM ${name}`))).length
  return counts
}

const helper = agent('helper', () => 'helped')
const desk = agent('desk', [calls('test_echo', ['agent_helper', { input: 'go' }]), 'done'], { tools: [echo(), helper] })

test('a purge of a correlation takes its runs, events, messages, claims and budgets along [F-16]', async () => {
  const given = await givenRuns({ agents: [desk] })
  const { run_id: id } = await given.run('desk', 'hi', { sessionId: 'chat' })
  assert((await stored(given))['runs'] === 2)
  await given.ambit.evidence.purge({ correlation: id })
  for (const [name, count] of Object.entries(await stored(given))) assert.equal(count, 0, name)
  await assert.rejects(given.ambit.runs.show(id), { code: 'run.not_found' })
})

test('no table but memory names a run that was purged, and another run stays whole [F-16]', async () => {
  const { pay } = payments()
  const writes = calls(['memory_write', { content: 'a fact' }], 'test_pay', ['agent_helper', { input: 'go' }])
  const payer = agent('payer', inTurn(writes, 'done'), {
    resources: { memory: { mode: 'read-write' } },
    tools: [pay, helper],
    contextWrite: true,
  })
  const given = await givenRuns({ agents: [payer] })
  const ida = await given.approver('ida')
  const done = async (sessionId: string) => {
    const options = { sessionId, context: ['acme'], contextIds: ['desk'], requestId: sessionId }
    const { run_id: id, waits_for } = await given.run('payer', 'go', options)
    await ida.approvals.decide(waits_for[0] ?? '', 'approve')
    assert.equal((await ended(given, id)).status, 'completed')
    return (await given.ambit.runs.list({ root: id })).runs.map(({ run_id }) => run_id)
  }
  const naming = async (ids: readonly string[]): Promise<string[]> => {
    const all = tables.map(async ({ name }) => {
      const found = JSON.stringify(await given.runtime.database.read(() => rows(`SELECT * FROM ${name}`)))
      return ids.some((id) => found.includes(id)) ? [name] : []
    })
    return (await Promise.all(all)).flat()
  }
  const [gone, kept] = [await done('one'), await done('two')]
  assert.deepEqual([gone.length, kept.length], [2, 2])
  const before = await naming(kept)
  const named = ['events', 'claims', 'approvals', 'runs', 'run_events', 'session_messages', 'budget_uses']
  for (const name of named) assert(before.includes(name), name)
  await given.ambit.evidence.purge({ correlation: gone.at(-1) ?? '' })
  assert.deepEqual(await naming(gone), ['entries', 'entry_history'])
  assert.deepEqual(await naming(kept), before)
})

test('a run that has not ended keeps its correlation [F-16]', async () => {
  const pay = echo({ id: 'test.pay', autonomy: { tier: 'approval_required' }, effects: ['money.move'] })
  const given = await givenRuns({ agents: [agent('payer', [calls('test_pay'), 'paid'], { tools: [pay] })] })
  const { run_id: id, status } = await given.run('payer')
  assert.equal(status, 'paused')
  await assert.rejects(given.ambit.evidence.purge({ correlation: id }), {
    code: 'correlation.in_use',
    data: { reason: 'running' },
  })
  await given.ambit.runs.cancel(id)
})

test('retention takes old runs and conversations, and leaves what is newer [F-16]', async () => {
  const given = await givenRuns({
    agents: [agent('talker', () => 'yes')],
    retention: { days: 30, conversationDays: 10 },
  })
  const old = await given.run('talker', 'hi', { sessionId: 'old' })
  given.clock.advance(20 * 86_400_000)
  const recent = await given.run('talker', 'hi', { sessionId: 'new' })
  given.clock.advance(15 * 86_400_000)
  const { host_id } = await given.runtime.store.read(() => getTenant(home))
  await openRetention(given.runtime, home, host_id)({ max: 100, signal: new AbortController().signal })
  assert.equal((await stored(given))['session_messages'], 0)
  await assert.rejects(given.ambit.runs.show(old.run_id), { code: 'run.not_found' })
  assert.equal((await given.ambit.runs.show(recent.run_id)).status, 'completed')
})

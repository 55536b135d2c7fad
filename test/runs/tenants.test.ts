import assert from 'node:assert/strict'
import { test } from 'vitest'
import { agent, silent } from '../support/runs.ts'
import { givenTwoTenants } from '../support/two-tenants.ts'

/** Says what it was told, what its prompt shows, and how many messages there were; or waits for ever. */
const talker = agent(
  'talker',
  (request) => {
    const last = request.messages.at(-1)?.content
    return last === 'wait'
      ? silent(request)
      : `${request.messages.length} ${request.system.split('\n\n').slice(1).join(' ')} ${last}`
  },
  { contextWrite: true },
)

const givenTwo = () => givenTwoTenants({ agents: [talker] })

const names = { sessionId: 'shared', contextIds: ['shared'], requestId: 'shared', context: ['acme/desk'] }

test('a session and a bucket of one name are another in each tenant [G-64 G-66]', async () => {
  const [north, south] = await givenTwo()
  const first = await (await north.run('talker', 'a canary', names)).result()
  assert.equal(first.result, '1 You are talker. a canary')
  const other = await (await south.run('talker', 'hello', names)).result()
  assert.equal(other.result, '1 You are talker. hello')
  const { requestId: _, ...again } = names
  const next = String((await (await north.run('talker', 'more', again)).result()).result)
  assert(next.startsWith('3 ') && next.includes('a canary') && !next.includes('hello'), next)
})

test('a run of another tenant is not there, whatever is asked of it, and a session busy there is free here [G-66 G-70]', async () => {
  const [north, south] = await givenTwo()
  const run = await north.run('talker', 'wait', names)
  const isMissing = { code: 'run.not_found', message: `run \`${run.id}\` not found`, data: { status: 404, id: run.id } }
  await assert.rejects(south.runs.show(run.id), isMissing)
  await assert.rejects(south.runs.cancel(run.id), isMissing)
  await assert.rejects(south.runs.resume(run.id), isMissing)
  await assert.rejects(async () => {
    for await (const event of south.runs.events(run.id)) assert.fail(event.type)
  }, isMissing)
  assert.deepEqual((await south.runs.list({ root: run.id })).runs, [])
  assert.deepEqual((await south.grants.revoke('run', run.id, { cancel: true })).ended, [])
  assert.deepEqual((await south.grants.revoke('path', 'acme')).ended, [])
  assert.equal((await (await south.run('talker', 'hello', names)).result()).status, 'completed')
  await assert.rejects(north.run('talker', 'hello', { sessionId: 'shared' }), { code: 'session.busy' })
  assert.equal((await north.runs.show(run.id)).status, 'running')
  await run.cancel()
  assert.equal((await run.result()).status, 'cancelled')
})

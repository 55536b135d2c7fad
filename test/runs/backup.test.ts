import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, test } from 'vitest'
import { verifyBundle } from '../../src/evidence/verify/verify.ts'
import { backUp, restore } from '../../src/runtime/evidence/backup.ts'
import { settingsFrom } from '../../src/runtime/settings/config.ts'
import type { AmbitConfig } from '../../src/runtime/settings/user-config.ts'
import { emptySchema } from '../storage/target.ts'
import { stillClock } from '../support/host.ts'
import { startPostgres } from '../support/postgres.ts'
import { agent, calls, ended, finishedIn, type GivenRuns, givenRuns, inTurn, payments } from '../support/runs.ts'

const root = mkdtempSync(join(tmpdir(), 'ambit-run-backup-'))
const server = await startPostgres({ fsync: false })
afterAll(async () => {
  await server?.stop()
  rmSync(root, { recursive: true })
})

let folders = 0

const { pay, paid } = payments()
const memory = { memory: { mode: 'read-write' } } as const
const helper = agent('helper', () => 'helped')
const agents = [
  agent('clerk', ({ messages }) => `I heard ${messages.filter(({ role }) => role === 'user').length} times`, {
    tools: [helper],
  }),
  agent('writer', inTurn(calls(['memory_write', { content: 'Ärzte in Zürich open early' }], 'agent_helper'), 'noted'), {
    resources: memory,
    tools: [helper],
  }),
  agent('reader', inTurn(calls(['memory_read', { query: 'zürich EARLY' }]), 'read'), { resources: memory }),
  agent('payer', inTurn(calls(['test_pay', { to: 'ann' }]), calls(['memory_write', { content: 'x' }]), 'done'), {
    resources: memory,
    tools: [pay],
  }),
]

const place = { clock: stillClock(), roots: ['acme'] }
const open = (folder: string, config: AmbitConfig): Promise<GivenRuns> =>
  givenRuns({ ...config, agents }, { ...place, folder })

/** Backs a store up, and opens what is made of it in an empty one; answers its lines as well. */
async function moved(from: GivenRuns, config: AmbitConfig) {
  const folder = join(root, `${folders++}`)
  mkdirSync(folder, { mode: 0o700 })
  cpSync(from.runtime.settings.keysDir, join(folder, 'keys'), { recursive: true })
  chmodSync(join(folder, 'keys'), 0o700)
  const file = join(folder, 'backup')
  await backUp(from.runtime, file)
  await from.close()
  await restore(settingsFrom({ dataDir: folder, ...config }, { folder, env: {} }), file)
  // What a process says of itself while it is open is no part of what it keeps.
  const rows = readFileSync(file, 'utf8')
    .split('\n')
    .slice(1, -2)
    .filter((row) => !/^\{"t":"(?:leases|checkpoints)"/.test(row))
  return { given: await open(folder, config), rows }
}

const recalled = async (given: GivenRuns): Promise<string> => {
  const { run_id } = await given.run('reader', 'go', { context: ['acme/eu'] })
  const [found] = (await given.events(run_id)).filter(({ type }) => type === 'tool.finished')
  return JSON.stringify(found?.data['output'])
}

test.skipIf(server === undefined)(
  'runs, conversations, memory and revocations move to another database and back, and go on there [F-16 G-76]',
  async () => {
    const first = await open(join(root, `${folders++}`), {})
    await first.approver('ida')
    const { secret } = await first.ambit.keys.create('ida')
    await first.run('clerk', 'hello', { sessionId: 'chat' })
    const wrote = await first.run('writer', 'go', { context: ['acme/eu'] })
    const waiting = await first.run('payer', 'go', { context: ['acme/us'], requestId: 'once' })
    assert.deepEqual([wrote.status, waiting.status], ['completed', 'paused'])
    await first.ambit.grants.revoke('path', 'acme/us')
    const told = await first.events(wrote.run_id)

    const { given: second, rows } = await moved(first, {
      store: { driver: 'postgres', url: await emptySchema(server) },
    })
    const { given: third, rows: again } = await moved(second, {})
    assert.deepEqual(again, rows)
    assert.deepEqual(await third.events(wrote.run_id), told)
    assert.equal(verifyBundle(await third.ambit.evidence.export(wrote.run_id)).valid, true)
    assert.match(await recalled(third), /Ärzte in Zürich/)
    assert.equal((await third.run('clerk', 'again', { sessionId: 'chat' })).result, 'I heard 2 times')
    assert.equal((await third.run('payer', 'go', { context: ['acme/us'], requestId: 'once' })).run_id, waiting.run_id)
    await (await third.ambit.withKey(secret)).approvals.decide(waiting.waits_for[0] ?? '', 'approve')
    assert.deepEqual([(await ended(third, waiting.run_id)).result, paid], ['done', ['ann']])
    assert.deepEqual(finishedIn(await third.events(waiting.run_id)), [
      'test_pay completed',
      'memory_write rejected grant_revoked',
    ])
  },
)

test.skipIf(server === undefined)('words are found again on PostgreSQL after a restore [F-16 G-76]', async () => {
  const first = await open(join(root, `${folders++}`), {})
  await first.run('writer', 'go', { context: ['acme/eu'] })
  const { given } = await moved(first, { store: { driver: 'postgres', url: await emptySchema(server) } })
  assert.match(await recalled(given), /Ärzte in Zürich/)
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenAmbit } from '../../../test/cli/given.ts'
import { administering, givenKey, givenShell, type Shell } from '../../../test/cli/harness.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { record } from '../../runtime/evidence/record.ts'
import { operator } from '../../runtime/identity/caller.ts'

async function givenTasks(...ids: readonly string[]): Promise<Shell> {
  const shell = await administering(givenShell(), 'local')
  const ambit = await givenAmbit({ folder: shell.cwd })
  const events = ids.map((id) => ({ event_type: 'noted', payload: {}, correlation: { correlation_id: id } }))
  await record(ambit, operator(tenantId('local')), events)
  await ambit.close()
  return shell
}

describe('evidence purge [H-63 F-18]', () => {
  test('says what would go, and takes it away only with --yes', async () => {
    const shell = await givenTasks('a', 'b', 'a')
    const would = await shell.good('evidence', 'purge', '--correlation', 'a')
    assert.equal(would.out, 'would purge 1 correlation with 2 records; add --yes to do it, it cannot be undone\n')
    await shell.good('evidence', 'export', 'a')
    const done = await shell.good('evidence', 'purge', '--correlation', 'a', '--yes')
    assert.equal(done.out, 'purged 1 correlation with 2 records\n')
    assert.match((await shell.run('evidence', 'export', 'a')).err, /correlation_not_found/)
    await shell.good('evidence', 'export', 'b')
    assert.match((await shell.run('doctor', '--deep')).out, /8 records \(2 of them purged\) and \d+ signed heads agree/)
  })

  test('by age, as JSON', async () => {
    const shell = await givenTasks('a', 'b')
    const words = ['evidence', 'purge', '--json', '--yes', '--before']
    const none = { purged: true, correlations: 0, events: 0, kept: [] }
    assert.deepEqual((await shell.good(...words, '1h')).json(), none)
    assert.deepEqual((await shell.good(...words, '9999-12-31T00:00:00Z')).json(), {
      ...none,
      correlations: 2,
      events: 2,
    })
  })

  test.each([
    [[], 2, /name either `correlation` or `before`/],
    [['--correlation', 'a', '--before', '1d'], 2, /name either/],
    [['--correlation', 'ambit-admin-local'], 1, /it is the runtime's own history/],
    [['--correlation', 'gone'], 1, /nothing is recorded under `gone`/],
  ])('a refusal: %j', async (words, code, message) => {
    const ran = await (await givenTasks('a')).run('evidence', 'purge', ...words)
    assert.deepEqual([ran.code, message.test(ran.err)], [code, true], ran.err)
  })

  test('needs the right to administer', async () => {
    const shell = await givenTasks('a')
    await shell.good('principal', 'create', 'ina', '--role', 'auditor')
    const { secret } = await givenKey(shell, 'ina')
    const ran = await shell.with({ env: { AMBIT_KEY: secret } }).run('evidence', 'purge', '--correlation', 'a', '--yes')
    assert.deepEqual([ran.code, /this key may not administer/.test(ran.err)], [1, true], ran.err)
    await shell.good('evidence', 'export', 'a')
  })
})

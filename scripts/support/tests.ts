import { startPostgres } from '../../test/support/postgres.ts'
import { run } from './run.ts'

/** Runs the tests on one PostgreSQL server for all of them: to make one takes seconds, a database in it almost nothing. */
export async function runTests(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const given = process.env['AMBIT_TEST_POSTGRES']
  const server = given ? undefined : await startPostgres({ fsync: false })
  const shared = server && { AMBIT_TEST_POSTGRES: server.url }
  run({ name: 'tests', command: 'vitest', args: ['run'], live: true, env: { ...shared, ...env } })
  await server?.stop()
}

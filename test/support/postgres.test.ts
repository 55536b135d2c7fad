import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, test } from 'vitest'
import { type Postgres, startPostgres } from './postgres.ts'
import { findBinaries } from './postgres-binaries.ts'

describe.skipIf(findBinaries() === undefined)('a throwaway PostgreSQL for tests [F-12]', () => {
  test('it answers, survives a restart and a kill, and leaves nothing behind', async () => {
    const server = await start()
    const folder = join(server.dataDir ?? '', '..')
    assert.deepEqual(await rows(server.url, 'select 1 as one'), [{ one: 1 }])
    await rows(server.url, 'create table kept (id int)')
    for (const restart of [() => server.restart(), () => server.restart('immediate'), () => killed(server)]) {
      await restart()
      await rows(server.url, 'insert into kept values (1)')
    }
    assert.deepEqual(await rows(server.url, 'select count(*)::int as n from kept'), [{ n: 3 }])
    await server.stop()
    await assert.rejects(rows(server.url, 'select 1'), /ECONNREFUSED/)
    assert.equal(existsSync(folder), false)
  })

  test('each database is empty and apart', async () => {
    const server = await start()
    const other = await server.database()
    await rows(server.url, 'create table only_here (id int)')
    await assert.rejects(rows(other, 'select * from only_here'), /does not exist/)
    await server.stop()
  })

  test('a process that is killed takes its server along', async () => {
    const program = `const { startPostgres } = await import('./postgres.ts')
      const { url, dataDir } = await startPostgres({ own: true, fsync: false })
      console.log(JSON.stringify({ url, dataDir })); setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: import.meta.dirname })
    const [line] = await once(child.stdout, 'data')
    const { url, dataDir } = JSON.parse(String(line))
    child.kill('SIGKILL')
    while (existsSync(dataDir)) await sleep(20)
    await assert.rejects(rows(url, 'select 1'), /ECONNREFUSED/)
  })

  test('a server that is given is shared: a fresh database each, no restart, and dropped at the end', async () => {
    const server = await start()
    process.env['AMBIT_TEST_POSTGRES'] = server.url
    try {
      const guest = await startPostgres()
      assert(guest !== undefined && guest.url !== server.url && guest.dataDir === undefined)
      assert.deepEqual(await rows(guest.url, 'select 1 as one'), [{ one: 1 }])
      await assert.rejects(guest.restart(), /not ours to restart/)
      await guest.stop()
      await assert.rejects(rows(guest.url, 'select 1'), /does not exist/)
    } finally {
      delete process.env['AMBIT_TEST_POSTGRES']
      await server.stop()
    }
  })
})

test('a machine that no package was made for has no PostgreSQL [F-12]', () => {
  assert.equal(findBinaries('plan9', 'x64'), undefined)
})

async function start(): Promise<Postgres> {
  const server = await startPostgres({ own: true, fsync: false })
  assert(server !== undefined)
  return server
}

async function killed(server: Postgres): Promise<void> {
  await server.kill()
  await server.restart()
}

async function rows(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { givenDepot } from './depot.ts'
import { administering, givenShell } from './harness.ts'
import { type HostProcess, startHost } from './host-process.ts'

interface Line {
  readonly time: string
  readonly level: string
  readonly event: string
  readonly [fact: string]: unknown
}

/** What a host wrote on standard error: every line is one JSON object. */
const linesOf = (host: HostProcess): readonly Line[] =>
  host
    .err()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

const eventsOf = (host: HostProcess) => linesOf(host).map(({ level, event }) => `${level} ${event}`)

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(50)
}

const statusOf = async (host: HostProcess, path: string): Promise<number> => (await fetch(`${host.url}${path}`)).status

describe('the log of host serve, as a process of its own [F-18]', () => {
  let postgres: Postgres | undefined
  beforeAll(async () => {
    postgres = await startPostgres({ own: true })
  })
  afterAll(() => postgres?.stop())

  test('it says that the store went away and came back; a call meanwhile is an error by code, and ready says no [H-70 H-75]', async () => {
    if (postgres === undefined) return
    const shell = givenShell()
    const store = { driver: 'postgres', url: await postgres.database() }
    writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify({ tenant: 'acme', store }))
    await shell.good('tenant', 'create', 'acme')
    const host = await startHost(shell, '--key', 'canary-key')
    assert.equal(await statusOf(host, '/v1/ready'), 204)
    assert.equal(await (await fetch(`${host.url}/v1/ready`)).text(), '')

    await postgres.kill()
    await until(() => eventsOf(host).includes('error store_away'))
    await until(async () => (await statusOf(host, '/v1/ready')) === 503)
    assert.equal(await (await fetch(`${host.url}/v1/ready`)).text(), '')
    assert.equal(await statusOf(host, '/health'), 200)
    const headers = { 'x-chp-key': 'canary-key', 'content-type': 'application/json' }
    const body = JSON.stringify({ capability_id: 'canary.call', payload: { x: 'canary-payload' } })
    for (let count = 0; count < 3; count++)
      assert.equal((await fetch(`${host.url}/invoke`, { method: 'POST', headers, body })).status, 503)

    await postgres.restart()
    await until(() => eventsOf(host).includes('info store_back'))
    await until(async () => (await statusOf(host, '/v1/ready')) === 204)
    host.process.kill('SIGTERM')
    assert.equal(await host.ended, 0, host.err())

    const lines = linesOf(host)
    assert.deepEqual(
      [...new Set(eventsOf(host))],
      ['info start', 'error store_away', 'error error', 'info store_back', 'info stop'],
    )
    const [start, away, error] = lines
    const back = lines.find(({ event }) => event === 'store_back')
    assert.deepEqual([start?.['url'], start?.['host_id'], start?.['store']], [host.url, 'acme', 'postgres'])
    assert.equal(away?.['code'], 'store_unavailable')
    assert.deepEqual([error?.['code'], error?.['route']], ['store_unavailable', '/invoke'])
    assert.match(String(error?.['trace_id']), /^[0-9a-f]{32}$/)
    assert(Number(back?.['away_ms']) > 0)
    for (const { time } of lines) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(/canary|postgres:\/\//.test(host.err()), false)
  })

  test('a start that is refused is one line with its code, before the sentence for people', async () => {
    const { shell } = await givenDepot()
    const { code, err } = await shell
      .with({ env: {} })
      .run('host', 'serve', '--port', '0', '--hostname', '192.0.2.1', '--json')
    assert.equal(code, 2)
    const { level, event, code: why, message } = JSON.parse(err) as Line
    assert.deepEqual([level, event, why], ['error', 'start_refused', 'config_invalid'])
    assert.equal(message, '`192.0.2.1` is no address of this machine')
  })

  test('limits of the configuration hold, and a change of them waits for the next start [H-80 F-20]', async () => {
    const shell = await administering(givenShell(), 'local')
    const configure = (limits: object) =>
      writeFileSync(join(shell.cwd, 'ambit.config.json'), JSON.stringify({ host: { limits } }))
    configure({ bodyBytesMax: 1_024, requestsPerSecondMax: 2 })
    const host = await startHost(shell, '--key', 'k')
    const headers = { 'x-chp-key': 'k', 'content-type': 'application/json' }
    const large = { method: 'POST', headers, body: JSON.stringify({ x: 'x'.repeat(2_000) }) }
    assert.equal((await fetch(`${host.url}/v1/preview`, large)).status, 413)
    const asked = () => fetch(`${host.url}/capabilities`, { headers })
    assert((await Promise.all(Array.from({ length: 8 }, asked))).some(({ status }) => status === 429))
    configure({ bodyBytesMax: 4_096 })
    await host.until(/the limits, .* stay as they are until the next start/)
    await sleep(1_100)
    assert.equal((await fetch(`${host.url}/v1/preview`, large)).status, 413)
    host.process.kill('SIGTERM')
    assert.equal(await host.ended, 0)
  })
})

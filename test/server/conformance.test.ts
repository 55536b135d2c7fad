import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { connectHost } from '../../src/client/host.ts'
import { projectRoot } from '../support/source.ts'

test('the fixture starts with one command, says once that it is ready, and leaves nothing behind [H-94]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const command = [join(projectRoot, 'src/cli/main.ts'), 'host', 'serve', '--conformance']
  const child = spawn(process.execPath, [...command, '--port', '0', '--key', 'K', '--scoped-key', 'SK'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (bytes) => {
    printed += bytes
  })
  while (!printed.includes('\n')) await once(child.stdout, 'data')
  const [, url = ''] = /^listening on (http:\/\/127\.0\.0\.1:\d+) .*\n$/.exec(printed) ?? []
  const host = connectHost({ url, key: 'K' })
  assert.deepEqual([(await host.health()).status, (await host.host()).assurance], ['ok', 'signed'])
  const { data } = await host.invoke({ capability_id: 'conformance.echo', payload: { value: 'v' } })
  assert.deepEqual(data, { echo: 'v' })
  const scoped = connectHost({ url, key: 'SK' })
  assert.deepEqual(
    (await scoped.capabilities()).map(({ id }) => id),
    ['conformance.echo'],
  )
  assert.equal((await scoped.invoke({ capability_id: 'conformance.fail' })).denial?.code, 'policy_blocked')
  await assert.rejects(connectHost({ url, key: 'X' }).host(), { code: 'unauthenticated' })
  child.kill('SIGTERM')
  await once(child, 'exit')
  assert.deepEqual(existsSync(folder) && readdirSync(folder), [])
  assert.equal(printed.split('\n').length, 2)
})

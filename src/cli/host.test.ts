import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, vi } from 'vitest'
import { givenDepot, writeDepot } from '../../test/cli/depot.ts'
import { givenDesk, givenShell } from '../../test/cli/harness.ts'
import { serving } from '../../test/cli/serving.ts'

describe('host serve [H-78 H-75]', () => {
  test('one line says where, what and for whom; without a key there, it is for this machine alone', async () => {
    const shell = givenShell()
    writeDepot(shell.cwd)
    await shell.good('tenant', 'create', 'northlight')
    const { code, out } = await serving(shell, [], async (url) => {
      const { capabilities } = (await (await fetch(`${url}/capabilities`)).json()) as { capabilities: unknown[] }
      assert.equal(capabilities.length, 2)
    })
    assert.equal(code, 0)
    assert.match(
      out,
      /^listening on http:\/\/127\.0\.0\.1:\d+ as host `northlight`: 2 capabilities; no API key yet, so anyone on this machine may call\n$/,
    )
    for (const hostname of ['0.0.0.0', '::', '192.0.2.1']) {
      const { code, err } = await shell.run('host', 'serve', '--port', '0', '--hostname', hostname)
      assert.equal(code, 2)
      assert.match(err, /^error: a host without keys is for this machine alone \(config_invalid\)\n/)
    }
  })

  test('without the keys of the tenant it does not start at all', async () => {
    const { shell } = await givenDepot()
    rmSync(join(shell.cwd, '.ambit/keys/northlight.key.json'))
    const { code, err } = await shell.run('host', 'serve', '--port', '0')
    assert.notEqual(code, 0)
    assert.match(err, /\(key_not_found\)/)
  })

  test('from the first API key on, a key is needed', async () => {
    const { shell, keys } = await givenDepot()
    await serving(shell, [], async (url) => {
      assert.equal((await fetch(`${url}/capabilities`)).status, 401)
      const headers = { authorization: `Bearer ${keys.planner}` }
      assert.equal((await fetch(`${url}/capabilities`, { headers })).status, 200)
    })
  })

  test('of what goes wrong inside it prints the kind alone: a message may hold what a caller sent [H-70]', async () => {
    const { shell, keys } = await givenDepot()
    const headers = { authorization: `Bearer ${keys.planner}` }
    const { err } = await serving(shell, [], async (url) => {
      const broken = vi.spyOn(URL.prototype, 'searchParams', 'get').mockImplementation(() => {
        throw new TypeError('canary-0815')
      })
      const { status } = await fetch(`${url}/replay/task`, { headers }).finally(() => broken.mockRestore())
      assert.equal(status, 500)
    })
    assert.equal(err, 'error: something went wrong inside (TypeError)\n')
  })

  test('a key of the command line is one that many may share', async () => {
    const shell = givenShell()
    writeDepot(shell.cwd)
    await shell.good('tenant', 'create', 'northlight')
    await serving(shell, ['--key', 'between-us', '--json'], async (url) => {
      assert.equal((await fetch(`${url}/host`)).status, 401)
      assert.equal((await fetch(`${url}/host`, { headers: { 'x-chp-key': 'between-us' } })).status, 200)
    })
  })

  test.each([
    [['--port', '65536'], /^error: option '--port <n>' argument '65536' is invalid/],
    [['--port', '-1'], /^error: option '--port/],
    [
      ['--hostname', 'no.such.host.invalid', '--key', 'k'],
      /^error: `no\.such\.host\.invalid` is no address of this machine \(config_invalid\)/,
    ],
  ])('usage: %j', async (words, message) => {
    const { code, err } = await (await givenDesk()).run('host', 'serve', ...words)
    assert.equal(code, 2)
    assert.match(err, message)
  })

  test('a configuration that is wrong is refused whole, before anything listens', async () => {
    const { shell } = await givenDepot()
    const policy =
      '{"name":"quality_release","version":"3","applies_to":["depot.*"],"rules":[{"id":"x","when":{"=~":[]},"decision":"allow"}]}'
    writeFileSync(join(shell.cwd, 'policies/quality-release.json'), policy)
    const { code, err } = await shell.run('host', 'serve', '--port', '0')
    assert.equal(code, 2)
    assert.match(err, /\(policy_invalid\)/)
  })
})

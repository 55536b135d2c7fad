import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, vi } from 'vitest'
import { givenDepot, givenEmptyDepot } from '../../../test/cli/depot.ts'
import { givenAmbit } from '../../../test/cli/given.ts'
import { givenDesk, givenKey } from '../../../test/cli/harness.ts'
import { serving } from '../../../test/cli/serving.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { issueKey, revokeKey } from '../../runtime/identity/api-keys.ts'
import { operator } from '../../runtime/identity/caller.ts'

describe('host serve [H-78 H-75]', () => {
  test('one line says where, what and for whom; open access is asked for by name and for this machine alone', async () => {
    const shell = (await givenEmptyDepot()).with({ env: {} })
    const { code, out } = await serving(shell, ['--open'], async (url) => {
      const { capabilities } = (await (await fetch(`${url}/capabilities`)).json()) as { capabilities: unknown[] }
      assert.equal(capabilities.length, 2)
    })
    assert.equal(code, 0)
    assert.match(
      out,
      /^listening on http:\/\/127\.0\.0\.1:\d+ as host `northlight`: 2 capabilities and 1 agent for 1 tenant; open: anyone on this machine may call\n$/,
    )
    for (const hostname of ['0.0.0.0', '::', '192.0.2.1']) {
      const { code, err } = await shell.run('host', 'serve', '--open', '--port', '0', '--hostname', hostname)
      assert.equal(code, 2)
      assert.match(err, /^error: open access is for this machine alone \(config_invalid\)\n/m)
    }
  })

  test('without a live key it answers 401 and says how to make one; a key that is made later counts at once [F-25]', async () => {
    const admin = await givenEmptyDepot()
    await admin.good('principal', 'create', 'planner', '--kind', 'agent')
    const first = await givenKey(admin, 'planner')
    const { keys } = (await admin.good('key', 'list', '--json')).json<{ keys: { key_id: string }[] }>()
    const status = async (url: string, path: string, key?: string) =>
      (await fetch(`${url}${path}`, { headers: key === undefined ? {} : { 'x-chp-key': key } })).status
    await serving(admin, [], async (url) => {
      await admin.good('key', 'revoke', first.key_id)
      for (const path of ['/capabilities', '/evidence', '/v1/approvals'])
        assert.equal(await status(url, path), 401, path)
      assert.equal(await status(url, '/capabilities', first.secret), 401)
      const next = await givenKey(admin, 'planner')
      assert.equal(await status(url, '/capabilities', next.secret), 200)
      assert.equal(await status(url, '/capabilities'), 401)
      await admin.good('key', 'revoke', next.key_id)
    })
    await admin.good('key', 'revoke', keys[0]?.key_id ?? '')
    const { out } = await serving(admin, [], async (url) => {
      assert.equal(await status(url, '/capabilities'), 401)
      const ambit = await givenAmbit({ folder: admin.cwd })
      const { secret } = await issueKey(ambit, operator(tenantId('northlight')), { principal: 'planner' })
      assert.equal(await status(url, '/capabilities', secret), 200)
      await revokeKey(ambit, operator(tenantId('northlight')), secret.split('.')[2] ?? '')
      await ambit.close()
    })
    assert.match(out, /; callers need a key, and there is none yet: `ambit key create <principal>`\n$/)
    const beyond = await admin.with({ env: {} }).run('host', 'serve', '--port', '0', '--hostname', '0.0.0.0')
    assert.match(beyond.err, /^error: a host beyond this machine needs a live API key \(config_invalid\)\n/m)
  })

  test('with the key of an administrator it does not start, and neither does `ambit mcp` [F-25]', async () => {
    const admin = await givenEmptyDepot()
    for (const words of [['host', 'serve', '--port', '0'], ['mcp']]) {
      const { code, err } = await admin.run(...words)
      assert.equal(code, 1)
      assert.match(err, /^error: this serves agents, and AMBIT_KEY is the key of an administrator /m)
    }
  })

  test('without the keys of the tenant it does not start at all', async () => {
    const { shell } = await givenDepot()
    rmSync(join(shell.cwd, '.ambit/keys/northlight.key.json'))
    const { code, err } = await shell.with({ env: {} }).run('host', 'serve', '--port', '0')
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
    const [, error] = err.split('\n').map((line) => JSON.parse(line || '{}'))
    assert.deepEqual(
      [error.event, error.code, error.kind, error.route],
      ['error', 'internal', 'TypeError', '/replay/:correlation'],
    )
    assert.equal(err.includes('canary'), false)
  })

  test('a key of the command line is one that many may share', async () => {
    const shell = await givenEmptyDepot()
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
      /^error: `no\.such\.host\.invalid` is no address of this machine \(config_invalid\)/m,
    ],
  ])('usage: %j', async (words, message) => {
    const { code, err } = await (await givenDesk()).with({ env: {} }).run('host', 'serve', ...words)
    assert.equal(code, 2)
    assert.match(err, message)
  })

  test('a configuration that is wrong is refused whole, before anything listens', async () => {
    const { anyone: shell } = await givenDepot()
    const policy =
      '{"name":"quality_release","version":"3","applies_to":["depot.*"],"rules":[{"id":"x","when":{"=~":[]},"decision":"allow"}]}'
    writeFileSync(join(shell.cwd, 'policies/quality-release.json'), policy)
    const { code, err } = await shell.run('host', 'serve', '--port', '0')
    assert.equal(code, 2)
    assert.match(err, /\(policy_invalid\)/)
  })
})

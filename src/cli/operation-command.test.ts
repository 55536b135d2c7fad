import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenDepot, release } from '../../test/cli/depot.ts'
import { serving } from '../../test/cli/serving.ts'
import type { InvocationResult } from '../model/wire/result.ts'

describe('commands say the same at a host that is served as at the store [H-06 H-53]', () => {
  test('capabilities, calls, streams and approvals', async () => {
    const { shell, planner, ida, keys } = await givenDepot()
    await serving(shell, [], async (url) => {
      const there = ['--url', url]
      for (const words of [
        ['capabilities', 'list'],
        ['capabilities', 'show', 'depot.release_batch'],
      ])
        assert.equal((await planner.good(...words, ...there)).out, (await planner.good(...words)).out)

      const { out } = await planner.good(
        'call',
        'depot.temperature',
        '--payload',
        '{"room":"north"}',
        '--stream',
        ...there,
      )
      assert.match(
        out,
        /^\{"celsius":4\}\n\{"celsius":5\}\n\{"celsius":4\}\nDONE {2}depot\.temperature 1\.0\.0 on `northlight`\n/,
      )

      const asked = await planner.run(...release(14, '--id', 'inv_7', '--json', ...there))
      assert.equal(asked.code, 1)
      const id = String(asked.json<InvocationResult>().denial?.details?.['approval_id'])
      for (const words of [
        ['approvals', 'list'],
        ['approvals', 'show', id],
      ])
        assert.equal((await ida.good(...words, ...there)).out, (await ida.good(...words)).out)

      await ida.good('approvals', 'approve', id, '--rationale', 'seen', ...there)
      assert.match((await planner.good(...release(14, '--id', 'inv_7', ...there))).out, /^DONE /)
      assert.match((await planner.good(...release(14, '--id', 'inv_7'))).out, /^DONE .* \(as recorded/)
      assert.match((await ida.good('approvals', 'list', '--state', 'redeemed', '--url', url)).out, /redeemed/)
      const withKey = shell.with({ cwd: '/' })
      await withKey.good('capabilities', 'list', ...there, '--key', keys.planner)
    })
  })

  test('a key that is given counts at the store as well, before the one in AMBIT_KEY', async () => {
    const { shell, kai, keys } = await givenDepot()
    assert.equal((await kai.run(...release(0))).code, 1)
    assert.match((await kai.good(...release(0, '--key', keys.planner))).out, /^DONE /)
    assert.match((await shell.good(...release(0, '--key', keys.planner))).out, /^DONE /)
    const { code, err } = await shell.run('capabilities', 'list', '--key', 'nonsense')
    assert.equal(code, 1)
    assert.match(err, /\(unauthenticated\)/)
  })

  test('refusals of a host are refusals here, and one that is not there is the surroundings', async () => {
    const { anyone: shell, kai } = await givenDepot()
    await serving(shell, [], async (url) => {
      for (const words of [
        ['capabilities', 'list'],
        ['call', 'depot.temperature'],
        ['approvals', 'list'],
      ]) {
        const refused = await shell.run(...words, '--url', url)
        assert.equal(refused.code, 1)
        assert.match(refused.err, /\(unauthenticated\)\n {2}give a current key of this host with AMBIT_KEY or --key\n$/)
      }
      const { port } = new URL(url)
      const taken = await shell.run('host', 'serve', '--port', port)
      assert.equal(taken.code, 2)
      assert.match(
        taken.err,
        new RegExp(`^error: port ${port} cannot be used: EADDRINUSE .*\n {2}give another with --port`, 'm'),
      )
      const elsewhere = await shell.run('host', 'serve', '--port', '0', '--hostname', '192.0.2.1')
      assert.match(
        elsewhere.err,
        /^error: `192\.0\.2\.1` is no address of this machine .*\n {2}give one with --hostname/m,
      )
      const linkLocal = await shell.run('host', 'serve', '--port', '0', '--hostname', 'fe80::1')
      assert.match(linkLocal.err, /^error: the address cannot be used \(E(?:INVAL|AFNOSUPPORT)\) \(config_invalid\)\n/m)
      const { code, err } = await kai.run('approvals', 'approve', 'apr_0', '--url', url)
      assert.equal(code, 1)
      assert.match(err, /\(approval_not_found\)/)
    })
    const { code, err } = await shell.run('capabilities', 'list', '--url', 'http://127.0.0.1:1')
    assert.equal(code, 2)
    assert.match(err, /^error: the host cannot be reached \(host_unreachable\)\n/)
    assert.equal((await shell.run('capabilities', 'list', '--url', 'here')).code, 2)
    const both = await shell.run('principal', 'list', '--url', 'http://127.0.0.1:1', '--tenant', 'other')
    assert.match(both.err, /'--url <address>' cannot be used with option '--tenant <id>'/)
    assert.equal(both.code, 2)
  })
})

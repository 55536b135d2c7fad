import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenDepot, givenEmptyDepot } from './depot.ts'
import { givenShell, type Shell } from './harness.ts'
import { startHost } from './host-process.ts'

const rewrite = ({ cwd }: Shell, change: (text: string) => string): void => {
  const path = join(cwd, 'ambit.config.ts')
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

/** A temperature that is read only when the file `go` is there. */
const slowly = (text: string): string =>
  text
    .replace(
      'import {',
      "import { existsSync } from 'node:fs'\nimport { setTimeout } from 'node:timers/promises'\nimport {",
    )
    .replace(
      'for (const celsius of [4, 5, 4]) yield { celsius }',
      "yield { celsius: 4 }\n    while (!existsSync('go')) await setTimeout(10)",
    )

describe('host serve, as a process of its own [F-18 F-20]', () => {
  test('reloads while a call is under way, which ends as it began; a broken configuration changes nothing', async () => {
    const shell = await givenEmptyDepot()
    rewrite(shell, slowly)
    const host = await startHost(shell, '--open')
    const slow = host.call('depot.temperature', { room: 'north' })
    // On record: so it is under way.
    while (!(await shell.good('evidence', 'list', '--json')).out.includes('execution_started'))
      await new Promise((resolve) => setTimeout(resolve, 50))

    rewrite(shell, (text) =>
      text.replace(/yield \{ celsius: 4 \}[\s\S]*?setTimeout\(10\)/, 'yield 0').replace('celsius: 4 }', 'celsius: 9 }'),
    )
    await host.until(/^reloaded: 2 capabilities, 1 policy$/m)
    assert.equal((await host.call('depot.temperature', { room: 'south' })).data.celsius, 9)

    rewrite(shell, (text) => `${text}\n}`)
    await host.until(/"message":"not reloaded, what was offered before stays: .* \(config_invalid\)"/)
    assert.equal((await host.call('depot.temperature', { room: 'south' })).data.celsius, 9)

    writeFileSync(join(shell.cwd, 'go'), '')
    assert.deepEqual([(await slow).outcome, (await slow).data.celsius], ['success', 4])
    host.process.kill('SIGTERM')
    assert.equal(await host.ended, 0, host.said())
  })

  test('a policy file that changes counts from then on, and so does a SIGHUP', async () => {
    const { shell, keys } = await givenDepot()
    const host = await startHost(shell)
    assert.match(host.said(), /; callers need a key$/m)
    assert.equal((await fetch(`${host.url}/capabilities`)).status, 401)
    const policy = join(shell.cwd, 'policies/quality-release.json')
    writeFileSync(policy, readFileSync(policy, 'utf8').replace('"version": "3"', '"version": "4"'))
    await host.until(/^reloaded: /m)
    const batch = { batch_id: 'B-000001', consignee: 'x', excursion_minutes: 0 }
    const more = { metadata: { purpose: 'routine' }, correlation: { correlation_id: 'run-1' } }
    assert.equal((await host.call('depot.release_batch', batch, keys.planner, more)).outcome, 'success')
    assert.match((await shell.good('evidence', 'trace', 'run-1')).out, /policy +quality_release, version 4, /)
    host.process.kill('SIGHUP')
    await host.until(/^reloaded: [\s\S]*^reloaded: /m)
    host.process.kill('SIGINT')
    assert.equal(await host.ended, 0)
  })

  test('a change of what the configuration imports counts too, and state of a module begins anew', async () => {
    const shell = await givenEmptyDepot()
    const rooms = (celsius: number) =>
      writeFileSync(join(shell.cwd, 'rooms.ts'), `let calls = 0\nexport const read = () => ${celsius} + ++calls\n`)
    rooms(10)
    rewrite(
      shell,
      (text) =>
        `import { read } from './rooms.ts'\n${text.replace('room: room ?? null, celsius: 4', 'celsius: read()')}`,
    )
    const host = await startHost(shell, '--open')
    const read = async () => (await host.call('depot.temperature', { room: 'north' })).data.celsius
    assert.deepEqual([await read(), await read()], [11, 12])
    rooms(20)
    await host.until(/^reloaded: /m)
    assert.equal(await read(), 21)
  })

  test('told to end, it first ends what is under way', async () => {
    const shell = await givenEmptyDepot()
    rewrite(shell, slowly)
    const host = await startHost(shell, '--open')
    const slow = host.call('depot.temperature', { room: 'north' })
    while (!(await shell.good('evidence', 'list', '--json')).out.includes('execution_started'))
      await new Promise((resolve) => setTimeout(resolve, 50))
    host.process.kill('SIGTERM')
    while (
      await fetch(`${host.url}/health`).then(
        () => true,
        () => false,
      )
    )
      await new Promise((resolve) => setTimeout(resolve, 20))
    await host.until(/"message":"waiting for 1 call under way; a second signal ends at once"/)
    writeFileSync(join(shell.cwd, 'go'), '')
    assert.equal((await slow).outcome, 'success')
    assert.equal(await host.ended, 0)
    assert.match((await shell.good('evidence', 'list')).out, /execution_completed/)
  })

  test('told to end twice, it ends at once', async () => {
    const shell = await givenEmptyDepot()
    rewrite(shell, slowly)
    const host = await startHost(shell, '--open')
    const slow = host.call('depot.temperature', { room: 'north' }).catch(() => 'gone')
    while (!(await shell.good('evidence', 'list', '--json')).out.includes('execution_started'))
      await new Promise((resolve) => setTimeout(resolve, 50))
    host.process.kill('SIGTERM')
    await host.until(/"message":"waiting for 1 call under way/)
    host.process.kill('SIGTERM')
    assert.equal(await host.ended, null)
    assert.equal(await slow, 'gone')
  })
})

describe('host serve --conformance [H-94]', () => {
  test('is up with one command and one line, anywhere, and leaves nothing behind', async () => {
    const shell = givenShell()
    const host = await startHost(shell, '--conformance', '--port', '0', '--key', 'k1', '--scoped-key', 'k2')
    assert.match(host.err(), /^\{.*"message":"warning: this fixture believes the mandate of any principal"\}\n/)
    assert.match(
      host.said(),
      /^listening on \S+ as host `conformance`: 8 capabilities for 1 tenant; callers need a key$/m,
    )
    assert.equal((await host.call('conformance.echo', { value: 1 }, 'k1')).outcome, 'success')
    assert.equal((await host.call('conformance.fail', {}, 'k2')).outcome, 'denied')
    host.process.kill('SIGTERM')
    assert.equal(await host.ended, 0)
    assert(!existsSync(join(shell.cwd, '.ambit')))
  })
})

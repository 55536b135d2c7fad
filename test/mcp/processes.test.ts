import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'vitest'
import { stdioTransport } from '../../src/adapters/mcp/stdio.ts'
import { NotSent } from '../../src/adapters/mcp/transport.ts'
import { acceptedHostile, ending, givenMcp, givenNotes, hostile, isAlive, root, until } from '../support/mcp.ts'

describe('a process ends [H-90]', () => {
  test.each(['calm', 'stubborn'])('with its upstream: %s', async (way) => {
    const { path, pids } = await givenNotes()
    const { tool, closeUpstream } = await givenMcp(hostile(way, path), { accepted: await acceptedHostile() })
    await tool('work')
    await closeUpstream()
    for (const pid of await pids()) assert.equal(isAlive(pid), false)
    assert.deepEqual(ending(await tool('work')), ['failure', 'unavailable', 'none'])
  })

  test('while it is still waited for, when its upstream is closed', async () => {
    const { path, pids } = await givenNotes()
    const { tool, closeUpstream } = await givenMcp(hostile('mute', path), { accepted: await acceptedHostile() })
    const call = tool('work')
    await until(async () => (await pids()).length === 1)
    await closeUpstream()
    assert.deepEqual(ending(await call), ['failure', 'unavailable', 'none'])
    await until(async () => (await pids()).every((pid) => !isAlive(pid)))
  })

  test('that was just being started, when its upstream is closed', async () => {
    const { path, pids } = await givenNotes()
    const { command, args, ...rest } = hostile('stubborn', path) as { command: string; args: string[] }
    const transport = stdioTransport({ command, args, cwd: root, env: {}, ...rest })
    const starting = transport.start()
    await transport.close()
    await assert.rejects(starting, NotSent)
    await new Promise((resolve) => setTimeout(resolve, 500))
    for (const pid of await pids()) assert.equal(isAlive(pid), false)
  })

  test('with its upstream, even if a newer one took its place while its call hung', async () => {
    const { path, notes, pids } = await givenNotes()
    const server = { ...hostile('hangs', path), env: { GIVEN: '{secret:given}' } }
    const secrets = { given: 'the first one' }
    const { tool, setSecret, closeUpstream } = await givenMcp(server, { accepted: await acceptedHostile(), secrets })
    const calls = [tool('work')]
    await until(async () => (await notes()).includes('called'))
    await setSecret('given', 'the second one')
    calls.push(tool('work'))
    await until(async () => (await notes()).filter((note) => note === 'called').length === 2)
    await closeUpstream()
    assert.deepEqual((await pids()).map(isAlive), [false, false])
    for (const call of calls) assert.deepEqual(ending(await call), ['indeterminate', 'upstream_gone', 'unknown'])
  })

  test('with whoever it worked for, and takes along what it started', async () => {
    const { path, pids } = await givenNotes()
    const { tool } = await givenMcp(hostile('keeps a helper', path), { accepted: await acceptedHostile() })
    await tool('work')
    await until(async () => (await pids()).length === 2 && (await pids()).every((pid) => !isAlive(pid)))
  })

  test('with us, by whichever signal we are ended', async () => {
    const ends = [
      ['SIGTERM', 'stubborn'],
      ['SIGINT', 'stubborn'],
      ['SIGHUP', 'calm'],
      ['SIGKILL', 'calm'],
    ] as const
    const upstream = await acceptedHostile()
    // Side by side: each gives its upstream time to end by itself.
    const endBy = async ([signal, way]: (typeof ends)[number]) => {
      const { path, pids } = await givenNotes()
      const given = JSON.stringify({ ...upstream, server: hostile(way, path) })
      const child = spawn(process.execPath, ['test/mcp/child.ts', given], { cwd: root })
      await once(child.stdout, 'data')
      child.kill(signal)
      const [, endedBy] = await once(child, 'exit')
      assert.equal(endedBy, signal)
      await until(async () => (await pids()).every((pid) => !isAlive(pid)))
      assert.equal((await pids()).length, 1, signal)
    }
    await Promise.all(ends.map(endBy))
  })
})

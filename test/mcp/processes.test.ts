import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'vitest'
import { acceptedOf, ending, givenMcp, givenNotes, hostile, isAlive, root, until } from '../support/mcp.ts'

const calm = () => acceptedOf(hostile('calm'), { timeoutS: 120 })

describe('a process ends [H-90]', () => {
  test.each(['calm', 'stubborn'])('with its upstream: %s', async (way) => {
    const { path, pids } = await givenNotes()
    const { tool, closeUpstream } = await givenMcp(hostile(way, path), { accepted: await calm() })
    await tool('work')
    await closeUpstream()
    for (const pid of await pids()) assert.equal(isAlive(pid), false)
    assert.deepEqual(ending(await tool('work')), ['failure', 'unavailable', 'none'])
  })

  test('while it is still waited for, when its upstream is closed', async () => {
    const { path, pids } = await givenNotes()
    const { tool, closeUpstream } = await givenMcp(hostile('mute', path), { accepted: await calm() })
    const call = tool('work')
    await until(async () => (await pids()).length === 1)
    await closeUpstream()
    assert.deepEqual(ending(await call), ['failure', 'unavailable', 'none'])
    await until(async () => (await pids()).every((pid) => !isAlive(pid)))
  })

  test('with whoever it worked for, and takes along what it started', async () => {
    const { path, pids } = await givenNotes()
    const { tool } = await givenMcp(hostile('keeps a helper', path), { accepted: await calm() })
    await tool('work')
    await until(async () => (await pids()).length === 2 && (await pids()).every((pid) => !isAlive(pid)))
  })

  test.each([
    ['SIGTERM', 'stubborn'],
    ['SIGINT', 'stubborn'],
    ['SIGHUP', 'calm'],
    ['SIGKILL', 'calm'],
  ] as const)('with us, when we are ended by %s: %s', async (signal, way) => {
    const { path, pids } = await givenNotes()
    const upstream = { ...(await calm()), server: hostile(way, path) }
    const child = spawn(process.execPath, ['test/mcp/child.ts', JSON.stringify(upstream)], { cwd: root })
    await once(child.stdout, 'data')
    child.kill(signal)
    const [, endedBy] = await once(child, 'exit')
    assert.equal(endedBy, signal)
    await until(async () => (await pids()).every((pid) => !isAlive(pid)))
    assert.equal((await pids()).length, 1)
  })
})

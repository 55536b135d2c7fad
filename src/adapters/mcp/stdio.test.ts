import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished, test } from 'vitest'
import { limits } from '../../base/limits.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { openEgress } from '../egress/egress.ts'
import { connect } from './connection.ts'
import { stdioTransport } from './stdio.ts'

const megabyte = 1024 * 1024
const text = 'x'.repeat(megabyte)
const never = new AbortController().signal
const calls = Array.from({ length: 40 }, (_, id) => ({
  jsonrpc: '2.0' as const,
  id,
  method: 'tools/call',
  params: { text },
}))

async function givenProgram(code: string) {
  const program = stdioTransport({ command: process.execPath, args: ['-e', code], env: {}, cwd: '.' })
  onTestFinished(() => program.close())
  await program.start()
  return program
}

test('calls wait for a program that does not read only so far, and of the others nothing is sent [H-90]', async () => {
  const program = await givenProgram('setInterval(() => {}, 1000)')
  const sent = await Promise.allSettled(calls.map((call) => program.send(call)))
  const refused = sent.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  assert.equal(refused.length, calls.length - limits.mcpUnsentBytesMax / megabyte)
  for (const reason of refused) {
    assert(reason instanceof CallEnded)
    assert.deepEqual([reason.code, reason.effect], ['unavailable', 'none'])
  }
  assert.equal(program.why, undefined)
})

test('closing a program sets no reason: the code that closes it says why [H-90]', async () => {
  const program = await givenProgram('setInterval(() => {}, 1000)')
  const { promise: over, resolve } = Promise.withResolvers<void>()
  program.onclose = resolve
  await program.close()
  await over
  assert.equal(program.why, undefined)
})

/** Says with each answer which calls it has read; does not read while it is busy with `block`. */
const busyServer = (revision: string) => `
  const read = []
  const answers = {
    'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }),
    initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'busy', version: '1' } }),
    'tools/call': ({ name }) => {
      if (name === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      read.push(name)
      return { content: [{ type: 'text', text: read.join() }] }
    },
  }
  if ('${revision}' === 'older') delete answers['server/discover']
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method.startsWith('notifications/')) return method.endsWith('cancelled') && read.push(method)
    const answer = answers[method]
    const said = answer ? { result: { resultType: 'complete', ...answer(params) } } : { error: { code: -32601, message: '' } }
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...said }) + '\\n')
  })`

test.each(['older', 'newer'])(
  'a call in the %s revision that is taken back while it waits to be read is not sent [H-90]',
  async (revision) => {
    const program = { command: process.execPath, args: ['-e', busyServer(revision)], env: {}, cwd: '.' }
    const ignore = () => undefined
    const listener = { signal: never, listed: ignore, retired: ignore, closed: ignore }
    const connection = await connect('busy', program, openEgress(), listener)
    onTestFinished(() => connection.close())
    const call = (name: string, signal = never) =>
      connection.call({ tool: { name, inputSchema: {} }, input: { text }, traceparent: '', signal })
    const controller = new AbortController()
    const before = ['block', ...Array.from({ length: 10 }, () => 'fill')].map((name) => call(name))
    const taking = assert.rejects(call('taken', controller.signal), CallEnded)
    await setTimeout(100)
    controller.abort()
    await Promise.all([...before, taking])
    assert.match(JSON.stringify(await call('last')), /"block(?:,fill){10},last"/)
  },
)

test('many long calls at once reach a program that reads [H-90]', async () => {
  const lines = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id } = JSON.parse(line)
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: {} }) + '\\n')
  })`
  const program = await givenProgram(lines)
  const answered: unknown[] = []
  const { promise: all, resolve } = Promise.withResolvers<void>()
  program.onmessage = (message) => {
    if (answered.push((message as { id?: unknown }).id) === calls.length) resolve()
  }
  await Promise.all(calls.map((call) => program.send(call)))
  await all
  assert.deepEqual(
    answered,
    calls.map(({ id }) => id),
  )
})

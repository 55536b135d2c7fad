import assert from 'node:assert/strict'
import { onTestFinished, test, vi } from 'vitest'
import { limits } from '../../../base/limits.ts'
import { CallEnded } from '../../ended.ts'
import { stdioTransport } from './stdio.ts'

const megabyte = 1024 * 1024
const calls = Array.from({ length: 40 }, (_, id) => ({
  jsonrpc: '2.0' as const,
  id,
  method: 'tools/call',
  params: { text: 'x'.repeat(megabyte) },
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

test('a call that is taken back while it waits to be read is not sent [H-90]', async () => {
  const late = `setTimeout(() => require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: {} }) + '\\n')
  }), 500)`
  const program = await givenProgram(late)
  const read: unknown[] = []
  program.onmessage = (message) => void read.push((message as { id?: unknown }).id)
  const [before, taken, last] = [calls.slice(0, 9), calls[9], calls[10]]
  const controller = new AbortController()
  const sent = before.map((call) => program.send(call))
  const taking = assert.rejects(program.send(taken as never, { requestSignal: controller.signal }), CallEnded)
  controller.abort()
  await Promise.all([...sent, taking])
  await program.send(last as never)
  await vi.waitFor(() => assert(read.includes(last?.id)), { timeout: 10_000 })
  assert.equal(read.includes(taken?.id), false)
})

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

import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
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

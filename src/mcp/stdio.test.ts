import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { givenServer } from '../../test/support/server.ts'
import { Failure } from '../base/failure.ts'
import { defineCapability } from '../gateway/capability.ts'
import { callerOf, operator } from '../runtime/identity/caller.ts'
import { serveMcpStdio } from './stdio.ts'

const envelopeWith = (clientCapabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
})
const envelope = envelopeWith({})

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly result?: { readonly isError?: boolean; readonly resultType?: string }
  readonly error?: { readonly code: number; readonly message: string }
}

const known = (id: string, policy: object = {}) => ({ id, version: '1.0.0', description: 'For tests.', policy })
const begun: AbortSignal[] = []
const input = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false }
const capabilities = [
  defineCapability({ ...known('depot.echo'), input }, ({ text = 'nothing' }: { text?: string }) => text),
  defineCapability(known('depot.fail'), () => Promise.reject(new Error('broken'))),
  defineCapability(known('depot.release', { approval_required: true }), () => 'released'),
  defineCapability({ ...known('depot.count'), modes: ['stream'] }, async function* () {
    yield 'one'
    yield 'two'
    return 'three'
  }),
  defineCapability(
    { ...known('depot.measure'), output: { type: 'object', properties: { temp: { type: 'number' } } } },
    () => ({ temp: 7 }),
  ),
  defineCapability(known('mcp.depot.picture'), () => ({
    content: [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: 'a picture', annotations: { audience: ['user'] } },
    ],
  })),
  defineCapability(known('depot.wait'), (_, { signal }) => {
    begun.push(signal)
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped')))
  }),
]

/** A host, and as many connections to it over streams as a test wants. */
async function givenHost() {
  const { ambit, host } = await givenServer({ offer: { capabilities }, clock: { now: () => 1_800_000_000_000 } })

  const connect = (refuses = () => false) => {
    const streams = { input: new PassThrough(), output: new PassThrough() }
    const caller = async () => {
      if (refuses()) throw new Failure('caller.not_permitted', 'the key is not accepted', {}, 'ask for another')
      return callerOf(operator(host.tenant))
    }
    const stopping = new AbortController()
    const over = serveMcpStdio(ambit, host, caller, stopping.signal, streams)
    onTestFinished(() => {
      stopping.abort()
      return over
    })
    const said: Message[] = []
    let text = ''
    streams.output.on('data', (chunk) => {
      text += chunk
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      said.push(...lines.map((line) => JSON.parse(line)))
    })
    const write = (message: unknown) => void streams.input.write(`${JSON.stringify(message)}\n`)
    const ask = async (id: unknown, method: string, params: object) => {
      write({ jsonrpc: '2.0', id, method, params })
      await vi.waitFor(() => assert(said.some((message) => message.id === id)))
      return said
    }
    return { streams, over, said, write, ask, stop: () => stopping.abort() }
  }
  return { connect }
}

type Connection = ReturnType<Awaited<ReturnType<typeof givenHost>>['connect']>

/** Speaks the older revision from here on. */
async function initialized({ ask, write }: Connection, capabilities = {}) {
  const clientInfo = { name: 'test', version: '1' }
  await ask('first', 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
  write({ jsonrpc: '2.0', method: 'notifications/initialized' })
}

const echo = { name: 'depot_echo', arguments: { text: 'hello' } }
test.each([['the newer revision', envelope] as const, ['the older revision', undefined] as const])(
  '%s: a caller who may call no more is told why [H-75]',
  async (_, meta) => {
    const { connect } = await givenHost()
    let refuses = false
    const connection = connect(() => refuses)
    if (meta === undefined) await initialized(connection)
    const params = { ...echo, ...(meta && { _meta: meta }) }
    await connection.ask(1, 'tools/call', params)
    refuses = true
    await connection.ask(2, 'tools/call', params)
    assert.equal(connection.said.at(-1)?.error?.message, 'the key is not accepted')
  },
)

test('a client that can show no form is not asked to fill one in [H-57]', async () => {
  const { connect } = await givenHost()
  const { ask } = connect()
  const _meta = envelopeWith({ elicitation: { url: {} } })
  const [answer] = await ask(1, 'tools/call', { name: 'depot_release', arguments: {}, _meta })
  expect(answer).toMatchObject({ result: { resultType: 'input_required', requestState: expect.any(String) } })
  assert(!('inputRequests' in (answer?.result ?? {})))
})

test('a call that is taken back stops and is not answered, and the others are [H-90]', async () => {
  const { connect } = await givenHost()
  const { ask, said, write } = connect()
  await ask(1, 'tools/call', { ...echo, _meta: envelope })
  begun.splice(0)
  write({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'depot_wait', _meta: envelope } })
  await vi.waitFor(() => assert.equal(begun.length, 1))
  const params = { requestId: 'slow', reason: 'enough' }
  write({ method: 'notifications/cancelled', params })
  write({ jsonrpc: '2.0', id: 'no notice', method: 'notifications/cancelled', params })
  await vi.waitFor(() => assert.equal(said.length, 2))
  assert.equal(begun[0]?.aborted, false)
  write({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  await vi.waitFor(() => assert.equal(begun[0]?.aborted, true))
  await ask(2, 'tools/call', { ...echo, _meta: envelope })
  assert.deepEqual(
    said.map(({ id }) => id),
    [1, 'no notice', 2],
  )
})

test('a connection stays in its revision, whatever was asked before it was chosen [H-90]', async () => {
  const { connect } = await givenHost()
  const connection = connect()
  await connection.ask('probe', 'server/discover', { _meta: envelope })
  await initialized(connection)
  for (const id of [1, 2, 3]) await connection.ask(id, 'tools/call', { ...echo, _meta: envelope })
  const results = connection.said.slice(-3).map(({ result }) => result)
  assert.deepEqual(
    results.map((result) => [result !== undefined, result?.resultType]),
    results.map(() => [true, undefined]),
  )
})

test('an envelope that the library refuses is refused every time, whatever else it answers [H-90]', async () => {
  const { connect } = await givenHost()
  const { ask, said, write } = connect()
  await ask(1, 'tools/call', { ...echo, _meta: envelope })
  const bad = { ...envelope, 'io.modelcontextprotocol/clientInfo': 7, 'io.modelcontextprotocol/logLevel': 'loud' }
  write({ jsonrpc: '2.0', id: 'x', method: 'tools/list', params: { _meta: envelope } })
  write({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { ...echo, _meta: bad } })
  await vi.waitFor(() => assert.equal(said.length, 3))
  for (const id of [2, 3]) await ask(id, 'tools/call', { ...echo, _meta: bad })
  for (const { error } of said.slice(-2)) assert.equal(error?.code, -32602)
})

test('nothing begins once the server is told to end [H-90]', async () => {
  const { connect } = await givenHost()
  const { ask, over, stop, write } = connect()
  await ask(1, 'tools/call', { ...echo, _meta: envelope })
  begun.splice(0)
  stop()
  write({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'depot_wait', _meta: envelope } })
  await over
  assert.equal(begun.length, 0)
})

test('an input that has ended ends the server, and its errors after the end are ignored [H-90]', async () => {
  const { connect } = await givenHost()
  const { over, stop, streams } = connect()
  stop()
  await over
  streams.input.destroy(new Error('reset'))
  const { ambit, host } = await givenServer({ offer: { capabilities } })
  const ended = new PassThrough().resume().end()
  await vi.waitFor(() => assert.equal(ended.readableEnded, true))
  const late = { input: ended, output: new PassThrough() }
  const caller = async () => callerOf(operator(host.tenant))
  await serveMcpStdio(ambit, host, caller, new AbortController().signal, late)
})

test('the end of the input ends the calls under way, and the server [H-90]', async () => {
  const { connect } = await givenHost()
  const { ask, over, streams, said, write } = connect()
  await ask(1, 'tools/call', { ...echo, _meta: envelope })
  begun.splice(0)
  write({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'depot_wait', _meta: envelope } })
  await vi.waitFor(() => assert.equal(begun.length, 1))
  streams.input.end()
  await over
  assert.deepEqual([begun[0]?.aborted, said.length], [true, 1])
})

test('lines that are no messages are passed over, and one without an end ends the server [H-80]', async () => {
  const { connect } = await givenHost()
  const { ask, over, streams } = connect()
  for (const line of ['', 'hello', '{', '[]', 'null', '7', '{"jsonrpc":"2.0"}', '{"method":"tools/call"}\r'])
    streams.input.write(`${line}\n`)
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const broken = Buffer.alloc(4_000_000, 0xff)
  const call = (inside: string) => `{"jsonrpc":"2.0","method":"tools/call","id":1,"params":${inside}}\n`
  streams.input.write(call(`{"name":"x","_meta":{"io.modelcontextprotocol/clientInfo":${deep}}}`))
  for (const part of [broken, '\n', '"', broken, '"\n']) streams.input.write(part)
  const said = await ask('next', 'tools/call', { ...echo, _meta: envelope })
  assert.equal(said.at(-1)?.id, 'next')
  for (let size = 0; size <= 11; size++) streams.input.write(Buffer.alloc(1_048_576, 'x'))
  await over
})

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { Client, type JSONRPCMessage, specTypeSchemas, type Transport } from '@modelcontextprotocol/client'
import { describe, test } from 'vitest'
import { failureOf, readAnswer, resultOf, type ToolFailed } from './outcome.ts'
import { openQuestions } from './questions.ts'

const revision = '2026-07-28'
const params = { name: 'add', arguments: { a: 1 }, _meta: { traceparent: '00-1-2-01' } }
const never = new AbortController().signal

/** The library in the newer revision, connected to a server that answers calls with `answer`; and all that it sent. */
async function givenLibrary(answer: (id: unknown) => object) {
  const sent: JSONRPCMessage[] = []
  const wire: Transport = {
    start: async () => undefined,
    close: async () => wire.onclose?.(),
    send: async (message) => {
      sent.push(message)
      if (!('id' in message) || !('method' in message)) return
      const { id, method } = message
      const said = method === 'tools/call' ? answer(id) : { jsonrpc: '2.0', id, result: discovered }
      wire.onmessage?.(structuredClone(said) as never)
    },
  }
  const client = new Client(
    { name: 'ambit', version: '1' },
    { versionNegotiation: { mode: { pin: revision } }, inputRequired: { autoFulfill: false } },
  )
  await client.connect(wire)
  return { client, sent }
}

const discovered = {
  resultType: 'complete',
  supportedVersions: [revision],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'ambit', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

function givenQuestions() {
  const sent: (JSONRPCMessage & { readonly id?: unknown })[] = []
  const questions = openQuestions(async (message) => void sent.push(structuredClone(message)), envelope)
  return { questions, sent, lastId: () => sent.at(-1)?.id }
}

const answerTo = (id: unknown, answer: object): JSONRPCMessage => ({ jsonrpc: '2.0', id, ...answer }) as never

test('what is asked is what the library would send, under an id that it never uses [H-90]', async () => {
  const { client, sent: theirs } = await givenLibrary((id) => ({ jsonrpc: '2.0', id, error: { code: 1, message: '' } }))
  await client.request({ method: 'tools/call', params }).catch(() => undefined)
  const { questions, sent: ours } = givenQuestions()
  void questions.ask(params, never)
  assert.deepEqual({ ...ours[0], id: 0 }, { ...theirs.at(-1), id: 0 })
  assert(Number(ours[0]?.id) > 1_000_000 * theirs.length)
})

describe('answers are read as the library reads them [H-90]', () => {
  const text = { type: 'text', text: 'x' }
  const complete = { resultType: 'complete' }
  const answers: readonly object[] = [
    { result: { ...complete, content: [text] } },
    { result: { ...complete, content: [] } },
    { result: { ...complete, content: [text], structuredContent: { sum: 1 }, isError: false, more: 1 } },
    { result: { ...complete, content: [text], structuredContent: [1] } },
    { result: { ...complete, content: [text], isError: true } },
    { result: { ...complete, content: [text], _meta: { a: 1 } } },
    { result: { ...complete, content: [text, { ...text, annotations: 7 }] } },
    { result: { ...complete, content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png', more: 1 }] } },
    { result: { ...complete, content: [{ type: 'image', data: 'no base64!', mimeType: 'image/png' }] } },
    { result: { ...complete, content: [{ type: 'text' }] } },
    { result: { ...complete, content: [{ type: 'unheard_of' }] } },
    { result: { ...complete, content: 'text' } },
    { result: { ...complete, content: [text], isError: 'yes' } },
    { result: { ...complete } },
    { result: { content: [text] } },
    { result: { content: [text], resultType: 7 } },
    { result: { content: [text], resultType: 'task' } },
    { result: { resultType: 'input_required', inputRequests: {}, requestState: 'x' } },
    { result: { resultType: 'input_required', inputRequests: { a: { method: 'roots/list' } } } },
    { error: { code: -32602, message: 'Unknown tool' } },
    { error: { code: -32021, message: 'elicitation', data: { requiredCapabilities: {} } } },
    { error: { code: -32042, message: 'visit', data: { elicitations: [] } } },
  ]
  test.each(answers.map((answer) => [JSON.stringify(answer), answer]))('%s', async (_, answer) => {
    const { client } = await givenLibrary((id) => ({ jsonrpc: '2.0', id, ...answer }))
    const theirs = await ended(async () =>
      client.request({ method: 'tools/call', params }, specTypeSchemas.CallToolResult),
    )
    const { questions, lastId } = givenQuestions()
    const ours = await ended(async () => {
      const asked = questions.ask(params, never)
      assert.equal(questions.take(answerTo(lastId(), structuredClone(answer))), true)
      return readAnswer(await asked, specTypeSchemas.CallToolResult)
    })
    assert.deepEqual(ours, theirs)
  })

  const ended = async (call: () => Promise<Parameters<typeof resultOf>[0]>) => {
    try {
      return resultOf(await call(), false)
    } catch (error) {
      const { code, message } = failureOf(error, 'depot', false) as ToolFailed
      return { code, message }
    }
  }
})

test('no word of a server says that nothing was sent, or what lies between us [H-90]', () => {
  for (const [message, data] of [['Not connected'], ['no', { status: 404 }], ['no', { status: 503 }]] as const) {
    const failed = failureOf(Object.assign(new Error(message), { code: -32000, data }), 'depot', false)
    assert.deepEqual([failed.name, (failed as ToolFailed).code], ['UpstreamError', 'mcp_-32000'])
  }
  assert.equal((failureOf(new Error('Not connected'), 'depot', false) as ToolFailed).code, 'unavailable')
})

test('an answer whose surroundings are wrong is none, at once [H-90]', () => {
  const content = [{ type: 'text', text: 'x' }]
  for (const answer of [null, [], { resultType: 'complete', content, _meta: 7 }])
    assert.throws(() => readAnswer(answer, specTypeSchemas.CallToolResult), { code: 'invalid_answer' })
})

test('an error that is none is an answer that nobody can read, and an id may come back as text [H-90]', async () => {
  const { questions, lastId } = givenQuestions()
  for (const error of [null, 'no', {}, { code: 'x', message: 'y' }, { code: 1.5, message: 'y' }, { code: 1 }]) {
    const asked = questions.ask(params, never)
    assert.equal(questions.take(answerTo(String(lastId()), { error })), true)
    await assert.rejects(asked, { code: 'INVALID_RESULT' })
  }
})

test('what is no answer to a question of ours is left to the library [H-90]', async () => {
  const { questions, lastId } = givenQuestions()
  const asked = questions.ask(params, never)
  const result = { result: {} }
  const others = [
    answerTo(0, result),
    answerTo(Number(lastId()) + 1, result),
    answerTo(lastId(), { ...result, error: { code: 1, message: '' } }),
    answerTo(lastId(), { ...result, jsonrpc: '1.0' }),
    answerTo(lastId(), { method: 'ping' }),
    answerTo(null, result),
    answerTo({}, result),
    answerTo([lastId()], result),
  ]
  assert.deepEqual(
    others.map((message) => questions.take(message)),
    others.map(() => false),
  )
  assert.equal(questions.take(answerTo(lastId(), result)), true)
  assert.deepEqual(await asked, {})
})

test('what is over leaves nothing behind, and what a server says with an error is kept [H-90]', async () => {
  const { questions, lastId } = givenQuestions()
  const { signal } = new AbortController()
  const data = { hint: 'later' }
  for (const answer of [{ result: {} }, { error: { code: 7, message: 'no', data } }]) {
    const asked = questions.ask(params, signal)
    const said = answerTo(lastId(), answer)
    for (const _ of [1, 2]) assert.equal(questions.take(said), true)
    if ('error' in answer) await assert.rejects(asked, { code: 7, message: 'no', data })
    else await asked
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('a call that nobody waits for is taken back once, and its answer counts no more [H-90]', async () => {
  const { questions, sent, lastId } = givenQuestions()
  const controller = new AbortController()
  const asked = questions.ask(params, controller.signal)
  const id = lastId()
  controller.abort('too late')
  await assert.rejects(asked, { code: 'REQUEST_TIMEOUT' })
  const cancelled = { requestId: id, reason: 'too late', _meta: envelope }
  assert.deepEqual(sent.slice(1), [{ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancelled }])
  assert.equal(questions.take(answerTo(id, { result: {} })), true)
  await assert.rejects(questions.ask(params, controller.signal), { code: 'REQUEST_TIMEOUT' })
  assert.equal(sent.length, 2)
})

test('an end fails what is not answered, and what cannot be sent fails at once [H-90]', async () => {
  const { questions } = givenQuestions()
  const asked = [questions.ask(params, never), questions.ask(params, never)]
  questions.close()
  for (const each of asked) await assert.rejects(each, { code: 'CONNECTION_CLOSED' })
  const broken = openQuestions(() => Promise.reject(new Error('gone')), {})
  await assert.rejects(broken.ask(params, never), /gone/)
})

// A real provider of the AI SDK, over HTTP, against a server that others wrote.

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll, test } from 'vitest'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Message, Model, TurnRequest } from '../runs/turn.ts'
import { fakeClock } from '../testing/ports.ts'
import { asModel } from './ai-sdk.ts'
import { withRetries } from './retry.ts'

// The start of the stream, the start of a text, and its first piece.
const partsUntilText = 3
const key = 'sk-wire-4711-secret'
const server = new LLMock({ port: 0 })
beforeAll(() => server.start())
afterAll(() => server.stop())
afterEach(() => {
  server.clearFixtures().clearRequests()
})

const tools = [
  {
    name: 'desk_show',
    description: 'Shows a ticket.',
    inputSchema: { type: 'object', properties: { id: { type: 'number' } } },
  },
]

test('a text comes back as the turn, with what the provider counted [F-26]', async () => {
  server.onMessage('hi', { content: 'Hello there.', usage: { prompt_tokens: 12, completion_tokens: 3 } })
  const turn = await model().turn(asking('hi'))
  assert.deepEqual(turn, { text: 'Hello there.', calls: [], usage: { inputTokens: 12, outputTokens: 3 } })
})

test('calls of a turn come back in order, an unknown tool too, and a conversation with their results goes on [F-26]', async () => {
  const toolCalls = [
    { id: 'call_a', name: 'desk_show', arguments: '{"id":7}' },
    { id: 'call_b', name: 'no_such_tool', arguments: '{"id":8}' },
  ]
  server.on({ userMessage: 'show', hasToolResult: false }, { content: 'I look.', toolCalls })
  server.on({ toolResultContains: 'not available' }, { content: 'One is open.' })
  const first = await model().turn(asking('show both'))
  assert.deepEqual(
    [first.text, first.calls],
    [
      'I look.',
      [
        { id: 'call_a', name: 'desk_show', args: { id: 7 } },
        { id: 'call_b', name: 'no_such_tool', args: { id: 8 } },
      ],
    ],
  )
  const results: Message[] = [
    { role: 'tool', callId: 'call_a', name: 'desk_show', content: 'open' },
    { role: 'tool', callId: 'call_b', name: 'no_such_tool', content: 'tool `no_such_tool` is not available' },
  ]
  const before = asking('show both')
  const assistant: Message = { role: 'assistant', content: first.text, calls: first.calls }
  const second = await model().turn({ ...before, messages: [...before.messages, assistant, ...results] })
  assert.equal(second.text, 'One is open.')
  const { messages, tools: offered } = server.getRequests()[1]?.body ?? {}
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'show both' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: toolCalls.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'open' },
    { role: 'tool', tool_call_id: 'call_b', content: 'tool `no_such_tool` is not available' },
  ])
  assert.deepEqual(offered, [
    {
      type: 'function',
      function: { name: 'desk_show', description: 'Shows a ticket.', parameters: tools[0]?.inputSchema },
    },
  ])
})

test('arguments that are cut stay text [F-26]', async () => {
  server.onMessage('show', { toolCalls: [{ id: 'call_a', name: 'desk_show', arguments: '{"id":' }] })
  assert.deepEqual((await model().turn(asking('show'))).calls, [{ id: 'call_a', name: 'desk_show', args: '{"id":' }])
})

test('a stream that is cut is a failed turn [F-26]', async () => {
  server.onMessage('hi', { content: 'Hello there, all of you.' }, { chunkSize: 4, truncateAfterChunks: 3 })
  await fails(model().turn(asking('hi')), 'model.failed')
})

test('a stream that is cut after something came is not tried again [F-26]', async () => {
  let cut = (): void => undefined
  const half = modelOn((answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    answer.write(eventOf({ choices: [{ index: 0, delta: { role: 'assistant', content: 'half' } }] }))
    cut = () => void answer.destroy()
  })
  let parts = 0
  const onPart = () => {
    if (++parts === partsUntilText) setImmediate(cut)
  }
  const request: TurnRequest = { ...asking('hi'), onPart }
  await fails(half.turn(request), 'model.failed', { retryable: false })
})

test('a stream that ends without a reason is a failed turn [F-26]', async () => {
  const said = [{ choices: [{ index: 0, delta: { role: 'assistant', content: 'half' } }] }]
  await fails(modelOn(answering(said)).turn(asking('hi')), 'model.failed')
  await fails(modelOn(answering([])).turn(asking('hi')), 'model.failed')
})

test('an error in a stream is a failed turn, whatever was said before [F-26]', async () => {
  const half = { choices: [{ index: 0, delta: { role: 'assistant', content: 'half' } }] }
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  const broken = { error: { message: 'it broke', type: 'server_error' } }
  await fails(modelOn(answering([half, broken, end])).turn(asking('hi')), 'model.failed', { retryable: false })
  const crowded = { error: { message: 'try later', type: 'overloaded_error' } }
  await fails(modelOn(answering([half, crowded, end])).turn(asking('hi')), 'model.limited')
})

test('what is limited waits as long as it is told, and then answers [F-26]', async () => {
  let asked = 0
  server.onMessage('hi', () =>
    ++asked === 1 ? { error: { message: 'Rate limit reached' }, status: 429, retryAfter: 17 } : { content: 'Hello.' },
  )
  const { retried, waits } = retrying()
  const turn = await retried.turn(asking('hi'))
  assert.deepEqual([turn.text, turn.retries, waits], ['Hello.', 1, [17_000]])
})

test('a server that fails is asked again, and its last word is told without the key [F-11 F-26]', async () => {
  server.onMessage('hi', {
    error: { message: `it broke for ${key} at https://x.example`, type: 'server_error' },
    status: 500,
  })
  const { retried, waits } = retrying()
  await fails(retried.turn(asking('hi')), 'model.failed', { status: 500, retries: limits.modelRetriesMax })
  assert.equal(waits.length, limits.modelRetriesMax)
  await assert.rejects(model().turn(asking('hi')), {
    message: 'model `acme.chat/m1`: status 500, `it broke for at`',
  })
})

test('a refusal is told at once [F-26]', async () => {
  server.onMessage('hi', { error: { message: 'no such model', code: 'model_not_found' }, status: 404 })
  await fails(retrying().retried.turn(asking('hi')), 'model.failed', { status: 404, retries: 0 })
})

test('a server that is not there can be tried again [F-26]', async () => {
  const gone = await LLMock.create()
  const away = createOpenAICompatible({ name: 'acme', baseURL: `${gone.url}/v1` })
  await gone.stop()
  await fails(asModel(away.chatModel('m1')).turn(asking('hi')), 'model.failed', { retryable: true })
})

test('a connection that closes before anything came can be tried again [F-26]', async () => {
  const closing = modelOn((answer) => answer.destroy())
  await fails(closing.turn(asking('hi')), 'model.failed', { retryable: true })
})

test.each(['before its answer', 'in its answer'])(
  'a server that falls silent %s is left at the abort [F-26 G-73]',
  async (when) => {
    const stop = new AbortController()
    const left = Promise.withResolvers<void>()
    const silent = modelOn((answer) => {
      answer.on('close', left.resolve)
      if (when === 'before its answer') return stop.abort()
      answer.writeHead(200, { 'content-type': 'text/event-stream' })
      answer.write(eventOf({ choices: [{ index: 0, delta: { role: 'assistant', content: 'half' } }] }))
    })
    const request = { ...asking('hi'), signal: stop.signal, onPart: () => setImmediate(() => stop.abort()) }
    await fails(silent.turn(request), 'model.failed', { retryable: false })
    await left.promise
  },
)

// A connection that is kept would hold the server up when it stops.
const headers = { connection: 'close' }
const provider = (path: string) =>
  createOpenAICompatible({ name: 'acme', baseURL: `${server.url}${path}`, apiKey: key, includeUsage: true, headers })

const model = (): Model => asModel(provider('/v1').chatModel('m1'))

let mounted = 0
/** A path of the same server that answers as no fixture can. */
function modelOn(answer: (response: ServerResponse) => void): Model {
  const path = `/own${++mounted}`
  server.mount(path, {
    handleRequest: async (request, response) => {
      request.resume()
      answer(response)
      return true
    },
  })
  return asModel(provider(path).chatModel('m1'))
}

const answering = (chunks: readonly object[]) => (answer: ServerResponse) => {
  answer.writeHead(200, { 'content-type': 'text/event-stream' })
  answer.end([...chunks.map(eventOf), 'data: [DONE]\n\n'].join(''))
}

const eventOf = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`

const asking = (content: string): TurnRequest => ({
  system: 'Be brief.',
  messages: [{ role: 'user', content }],
  tools,
  signal: new AbortController().signal,
})

/** Waits are over at once; silence is never. */
function retrying() {
  const waits: number[] = []
  const sleep = (ms: number) => {
    if (ms === limits.turnMs) return new Promise<void>(() => undefined)
    waits.push(ms)
    return Promise.resolve()
  }
  const options = { retriesMax: limits.modelRetriesMax, deadlineMs: 3_600_000, clock: fakeClock(), sleep }
  return { waits, retried: withRetries(model(), options) }
}

async function fails(turn: Promise<unknown>, code: string, data: object = {}): Promise<void> {
  await assert.rejects(turn, (error) => {
    assert(error instanceof Failure)
    assert.equal(error.code, code)
    assert.deepEqual({ ...error.data, ...data }, error.data)
    assert(!`${error.message}${JSON.stringify(error.data)}`.includes(key))
    return true
  })
}

import assert from 'node:assert/strict'
import type { LanguageModel } from 'ai'
import { MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test'
import fc from 'fast-check'
import { test } from 'vitest'
import { canonical, type Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Message, TurnRequest } from '../runs/turn.ts'
import { asModel } from './ai-sdk.ts'

type Part = Readonly<Record<string, unknown>>
type Version = 'v2' | 'v3' | 'v4'
interface Spoken {
  readonly model: object
  readonly asked: () => readonly unknown[]
}

const versions: Version[] = ['v2', 'v3', 'v4']
const none: TurnRequest = { system: '', messages: [], tools: [], signal: new AbortController().signal }
const conversation: readonly Message[] = [
  { role: 'user', content: 'what is open?' },
  {
    role: 'assistant',
    content: 'I look.',
    calls: [
      { id: 'a', name: 'desk_list', args: { open: true } },
      { id: 'b', name: 'desk_show', args: '{"cut' },
    ],
  },
  { role: 'tool', callId: 'a', name: 'desk_list', content: '2 tickets' },
  { role: 'tool', callId: 'b', name: 'desk_show', content: 'arguments are no JSON object' },
  { role: 'assistant', content: '', calls: [] },
  { role: 'user', content: 'and now?' },
]

test.each(versions)(
  'a model of specification %s is given the conversation, and its stream becomes a turn [F-26]',
  async (version) => {
    const { model, asked } = speaking(version, [
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'text-delta', id: 't', delta: 'Two ' },
      { type: 'text-delta', id: 't', delta: 'tickets.' },
      call('c1', 'desk_show', '{"id":7}'),
      call('c2', 'desk_list', ''),
      finish(version, 'tool-calls'),
    ])
    const tools = [{ name: 'desk_list', description: 'Lists.', inputSchema: { type: 'object' } }]
    const turn = await asModel(model).turn({ ...none, system: 'Be brief.', messages: conversation, tools })
    assert.deepEqual(turn, {
      text: 'Two tickets.',
      calls: [
        { id: 'c1', name: 'desk_show', args: { id: 7 } },
        { id: 'c2', name: 'desk_list', args: {} },
      ],
      usage: { inputTokens: 11, outputTokens: 5 },
    })
    assert.deepEqual(asked(), [
      {
        prompt: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'what is open?' }] },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look.' },
              { type: 'tool-call', toolCallId: 'a', toolName: 'desk_list', input: { open: true } },
              { type: 'tool-call', toolCallId: 'b', toolName: 'desk_show', input: {} },
            ],
          },
          {
            role: 'tool',
            content: [result('a', 'desk_list', '2 tickets'), result('b', 'desk_show', 'arguments are no JSON object')],
          },
          { role: 'user', content: [{ type: 'text', text: 'and now?' }] },
        ],
        tools: [{ type: 'function', name: 'desk_list', description: 'Lists.', inputSchema: { type: 'object' } }],
        abortSignal: none.signal,
      },
    ])
  },
)

test.each(versions)('a turn of %s without an end that its provider stands for is no turn [F-26]', async (version) => {
  const told = [{ type: 'text-delta', id: 't', delta: 'half' }]
  for (const parts of [told, [], [...told, { type: 'finish' }], [...told, finish(version, 'error')]])
    await fails(speaking(version, parts), 'model.failed', { retryable: false })
  const unsaid = version === 'v2' ? { type: 'finish', finishReason: 'unknown' } : finish(version, 'other')
  await fails(speaking(version, [...told, unsaid]), 'model.failed')
  for (const reason of ['length', 'content-filter'])
    await fails(speaking(version, [...told, finish(version, reason)]), 'model.invalid')
})

test('a reason that only the provider knows ends a turn, and counts that are none are left out [F-26]', async () => {
  const ended = {
    type: 'finish',
    finishReason: { unified: 'other', raw: 'pause' },
    usage: { inputTokens: { total: -1 } },
  }
  assert.deepEqual(await asModel(speaking('v4', [ended]).model).turn(none), { text: '', calls: [], usage: {} })
  const uncounted = { type: 'finish', finishReason: 'stop', usage: { inputTokens: Number.NaN, outputTokens: 3 } }
  const { usage } = await asModel(speaking('v2', [uncounted]).model).turn(none)
  assert.deepEqual(usage, { outputTokens: 3 })
})

test('arguments are a JSON object, or the text that is none [F-26]', async () => {
  const objects = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value))
  const texts = fc.oneof(objects, fc.json(), fc.string({ unit: 'binary' }), fc.constantFrom('{"a":1,"a":2}', '{"a":'))
  await fc.assert(
    fc.asyncProperty(texts, async (input) => {
      const { model } = speaking('v4', [call('c', 'tool', input), finish('v4', 'tool-calls')])
      const [{ args } = { args: '' }] = (await asModel(model).turn(none)).calls
      if (typeof args === 'string') assert.equal(args, input.toWellFormed())
      else assert.deepEqual(canonical(args), canonical((input.trim() === '' ? {} : JSON.parse(input)) as Json))
    }),
  )
  const { model } = speaking('v4', [call('c', 'tool', '{"a":1,"a":2}'), finish('v4', 'stop')])
  assert.equal((await asModel(model).turn(none)).calls[0]?.args, '{"a":1,"a":2}')
})

test('a turn that is too large, or calls that cannot be told apart, are refused [F-26]', async () => {
  const calls = (count: number) => Array.from({ length: count }, (_, index) => call(`c${index}`, 'tool', '{}'))
  const end = finish('v4', 'stop')
  const long = 'x'.repeat(limits.callArgsCharsMax)
  const most = await asModel(speaking('v4', [...calls(limits.turnCallsMax), end]).model).turn(none)
  assert.equal(most.calls.length, limits.turnCallsMax)
  const refused: Part[][] = [
    calls(limits.turnCallsMax + 1),
    [call('c', 'tool', '{}'), call('c', 'tool', '{}')],
    [call('c', 'tool', `${long}x`)],
    [call('c', 'x'.repeat(limits.wireIdCharsMax + 1), '{}')],
    [{ ...call('c', 'web_search', '{}'), providerExecuted: true }],
    Array.from({ length: 5 }, () => ({ type: 'text-delta', delta: long })),
    Array.from({ length: limits.turnCallsMax + 1 }, () => ({ type: 'tool-input-delta', id: 'c', delta: long })),
  ]
  for (const parts of refused) await fails(speaking('v4', [...parts, end]), 'model.invalid', { retryable: false })
})

test('text that no canonical form can hold is made well-formed [F-26]', async () => {
  const parts = [
    { type: 'text-delta', delta: 'a\ud83d' },
    { type: 'text-delta', delta: '\ude00\ud800' },
  ]
  const { model } = speaking('v4', [...parts, call('c\ud800', 'tool\ud800', '"\ud800'), finish('v4', 'stop')])
  const turn = await asModel(model).turn(none)
  assert.deepEqual([turn.text, turn.calls[0]], ['a😀�', { id: 'c�', name: 'tool�', args: '"�' }])
})

test('what is over the limit is not read on [F-26]', async () => {
  let cancelled = false
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue({ type: 'text-delta', delta: 'x'.repeat(100_000) }),
    cancel: () => {
      cancelled = true
    },
  })
  await fails({ model: new MockLanguageModelV4({ doStream: { stream } }) }, 'model.invalid')
  assert(cancelled)
})

test.each([true, false])('an abort ends a turn that hangs, when it comes at first: %s [F-26 G-73]', async (early) => {
  const stop = new AbortController()
  const stream = new ReadableStream({ start: (controller) => controller.enqueue({ type: 'text-delta', delta: 'a' }) })
  const model = asModel(new MockLanguageModelV4({ doStream: { stream } }))
  if (early) stop.abort()
  const onPart = () => stop.abort()
  const request = { ...none, signal: stop.signal, onPart }
  await assert.rejects(model.turn(request), { code: 'model.failed', message: /the turn was stopped/ })
})

test('a model is ours or one of the AI SDK; all else is told what is expected [F-26]', () => {
  const own = { id: 'own', turn: () => Promise.reject(new Error('unused')) }
  assert.equal(asModel(own), own)
  assert.equal(asModel(speaking('v3', []).model).id, 'acme/m1')
  for (const value of [own, ...versions.map((version) => speaking(version, []).model)]) asModel(value)
  const { model } = speaking('v2', [])
  for (const value of ['openai/gpt-5', null, {}, { id: 'x' }, { ...model, specificationVersion: 'v1' }])
    assert.throws(
      () => asModel(value),
      (error) => error instanceof Failure && /AI SDK \(specification v2/.test(error.message),
    )
})

/** The same stream in each specification: `ai` has mocks of the newer two. */
function speaking(version: Version, parts: readonly Part[]): Spoken {
  const stream = new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
  const named = { provider: 'acme', modelId: 'm1' }
  if (version !== 'v2') {
    const Mock = version === 'v3' ? MockLanguageModelV3 : MockLanguageModelV4
    const model = new Mock({ ...named, doStream: { stream } })
    return { model, asked: () => model.doStreamCalls }
  }
  const asked: unknown[] = []
  const model: Extract<LanguageModel, { specificationVersion: 'v2' }> = {
    ...named,
    specificationVersion: 'v2',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('this model streams')),
    doStream: async (options) => {
      asked.push(options)
      return { stream }
    },
  }
  return { model, asked: () => asked }
}

async function fails({ model }: Pick<Spoken, 'model'>, code: string, data: object = {}): Promise<void> {
  await assert.rejects(asModel(model).turn(none), (error) => {
    assert(error instanceof Failure)
    assert.equal(error.code, code)
    assert.deepEqual({ ...error.data, ...data }, error.data)
    return true
  })
}

function finish(version: Version, reason: string): Part {
  const usage = { inputTokens: 11, outputTokens: 5 }
  const counted = { inputTokens: { total: 11, noCache: 11 }, outputTokens: { total: 5, reasoning: 2 } }
  return version === 'v2'
    ? { type: 'finish', finishReason: reason, usage }
    : { type: 'finish', finishReason: { unified: reason, raw: undefined }, usage: counted }
}

const call = (toolCallId: string, toolName: string, input: string): Part => ({
  ...{ type: 'tool-call', toolCallId, toolName, input },
})

const result = (toolCallId: string, toolName: string, value: string): Part => ({
  ...{ type: 'tool-result', toolCallId, toolName },
  output: { type: 'text', value },
})

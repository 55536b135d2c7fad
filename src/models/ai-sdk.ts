import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { defined, isObject } from '../base/object.ts'
import type { Message, Model, ToolCall, Turn, TurnRequest } from '../runs/turn.ts'
import { argumentsIn, invalidTurn } from './check-turn.ts'
import { turnFailure } from './turn-failure.ts'

/** A model of ours as it is, or one of the AI SDK behind our port. Anything else fails, and says what is expected. */
export function asModel(value: unknown): Model {
  if (isOwn(value)) return value
  if (!isAiSdkModel(value)) throw new Failure('config.invalid', `this is no model: give ${expected}`)
  const id = `${value.provider}/${value.modelId}`
  return { id, turn: (request) => aiSdkTurn(id, value, request) }
}

const expected =
  'a language model of the AI SDK (specification v2, v3 or v4), not its name alone, or an object with `id` and `turn`'

const isOwn = (value: unknown): value is Model =>
  isObject(value) && typeof value['id'] === 'string' && typeof value['turn'] === 'function'

const isAiSdkModel = (value: unknown): value is AiSdkModel =>
  isObject(value) && /^v[234]$/.test(String(value['specificationVersion'])) && typeof value['doStream'] === 'function'

/** A language model of the AI SDK, as far as it is used here. */
interface AiSdkModel {
  readonly provider: string
  readonly modelId: string
  doStream(request: AiSdkRequest): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

/** What all specifications of the AI SDK take alike. */
interface AiSdkRequest {
  readonly prompt: readonly { readonly role: string; readonly content: string | object[] }[]
  readonly tools?: readonly object[]
  readonly abortSignal: AbortSignal
}

function aiSdkRequest({ system, messages, tools, signal }: TurnRequest): AiSdkRequest {
  const said: { role: Message['role']; content: object[] }[] = []
  for (const message of messages) {
    const content = partsOf(message)
    const last = said.at(-1)
    // Some providers want the results of one turn together.
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(...content)
    else if (content.length > 0) said.push({ role: message.role, content })
  }
  return {
    prompt: system === '' ? said : [{ role: 'system', content: system }, ...said],
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ ...tool, type: 'function' })) }),
    abortSignal: signal,
  }
}

function partsOf(message: Message): object[] {
  if (message.role === 'tool') {
    const { callId: toolCallId, name: toolName, content: value } = message
    return [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }]
  }
  const text = message.content === '' && message.role === 'assistant' ? [] : [{ type: 'text', text: message.content }]
  if (message.role === 'user') return text
  // Providers refuse arguments that are no object; why such a call failed is in its result.
  const calls = message.calls.map(({ id: toolCallId, name: toolName, args }) => {
    return { type: 'tool-call', toolCallId, toolName, input: typeof args === 'string' ? {} : args }
  })
  return [...text, ...calls]
}

/** One turn, read from its stream to the end. A stream without an end, or with an error in it, is a failed turn. */
async function aiSdkTurn(id: string, model: AiSdkModel, request: TurnRequest): Promise<Turn> {
  const draft: Draft = { id, text: '', calls: [], inputChars: 0, came: false, finish: {} }
  try {
    const { stream } = await model.doStream(aiSdkRequest(request))
    // The pipe ends at the signal, whether the provider looks at it or not.
    for await (const part of stream.pipeThrough(new TransformStream(), { signal: request.signal })) {
      request.onPart?.()
      if (isObject(part)) take(draft, part)
    }
    return finished(draft)
  } catch (error) {
    throw turnFailure(id, error, request.signal, draft.came)
  }
}

type Part = Readonly<Record<string, unknown>>

interface Draft {
  readonly id: string
  readonly calls: ToolCall[]
  text: string
  inputChars: number
  came: boolean
  finish: Part
}

function take(draft: Draft, part: Part): void {
  const { type, delta } = part
  draft.came ||= /^(text|reasoning|tool)-/.test(String(type))
  if (type === 'error') throw part['error']
  if (type === 'finish') draft.finish = part
  if (type === 'text-delta') draft.text += String(delta)
  if (type === 'tool-input-delta') draft.inputChars += String(delta).length
  if (type === 'tool-call') draft.calls.push(callOf(draft, part))
  if (draft.text.length > limits.turnTextCharsMax) throw invalid(draft, 'its text is too long')
  if (draft.inputChars > limits.callArgsCharsMax * limits.turnCallsMax) throw invalid(draft, 'its calls are too long')
}

function callOf(draft: Draft, { toolCallId, toolName, input, providerExecuted }: Part): ToolCall {
  const [id = '', name = '', text = ''] = [toolCallId, toolName, input].map((value) => String(value).toWellFormed())
  if (providerExecuted === true) throw invalid(draft, `${quote(name)} ran at the provider, past the gateway`)
  if (draft.calls.length >= limits.turnCallsMax) throw invalid(draft, `more than ${limits.turnCallsMax} calls`)
  if (draft.calls.some((call) => call.id === id)) throw invalid(draft, `two calls ${quote(id)}`)
  if (Math.max(id.length, name.length) > limits.wireIdCharsMax || text.length > limits.callArgsCharsMax)
    throw invalid(draft, `the call ${quote(id)} is too long`)
  return { id, name, args: argumentsIn(text) }
}

/** What changed after v2: the reason is an object, and `other` without `raw` where none was given; counts are objects. */
function finished(draft: Draft): Turn {
  const { finishReason: given, usage } = draft.finish
  const { unified, raw } = isObject(given) ? given : { unified: given, raw: given }
  const reason = unified === 'other' && raw === undefined ? 'unknown' : String(unified)
  if (/^(length|content-filter)$/.test(reason)) throw invalid(draft, `the turn is incomplete (${reason})`)
  if (!/^(stop|tool-calls|other)$/.test(reason)) throw new Error(`the stream ended without an end (${reason})`)
  const [inputTokens, outputTokens] = ['inputTokens', 'outputTokens'].map((name) => {
    const count = isObject(usage) ? usage[name] : undefined
    const total = Number(isObject(count) ? count['total'] : count)
    return Number.isSafeInteger(total) && total >= 0 ? total : undefined
  })
  return { text: draft.text.toWellFormed(), calls: draft.calls, usage: defined({ inputTokens, outputTokens }) }
}

const invalid = ({ id }: Draft, why: string): Failure => invalidTurn(id, why)

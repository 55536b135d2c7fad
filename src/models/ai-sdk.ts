import type { Json } from '../base/canonical.ts'
import { type Failure, quote } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import { defined, isJsonObject, isObject } from '../base/object.ts'
import type { ToolCall, Turn } from '../runs/turn.ts'
import { type AiSdkRequest, aiSdkRequest } from './prompt.ts'
import type { WatchedRequest } from './retry.ts'
import { failedTurn, turnFailure } from './turn-failure.ts'

/** A language model of the AI SDK, as far as it is used here. */
export interface AiSdkModel {
  readonly provider: string
  readonly modelId: string
  doStream(request: AiSdkRequest): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

/** One turn, read from its stream to the end. A stream without an end, or with an error in it, is a failed turn. */
export async function aiSdkTurn(id: string, model: AiSdkModel, request: WatchedRequest): Promise<Turn> {
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

/** Many providers write nothing where a tool takes no arguments. */
function argumentsIn(text: string): ToolCall['args'] {
  if (text.trim() === '') return {}
  try {
    const value = readJson(text)
    return isJsonObject(value) ? (value as { [member: string]: Json }) : text
  } catch {
    return text
  }
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

const invalid = ({ id }: Draft, why: string): Failure => failedTurn(id, why, 'model.invalid')

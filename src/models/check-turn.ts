import type { Json } from '../base/canonical.ts'
import { type Failure, quote } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import { defined, isJsonObject } from '../base/object.ts'
import type { ToolCall, Turn } from '../runs/turn.ts'
import { failedTurn } from './turn-failure.ts'

/**
 * The turn of a model within the bounds of one, whichever port it came through; what is no such turn is refused. A count
 * that is none, or that no sum can hold, was not made.
 */
export function checkTurn(id: string, { text, calls, usage }: Turn): Turn {
  if (typeof text !== 'string' || !Array.isArray(calls)) throw invalidTurn(id, 'it gave no text, or no list of calls')
  if (text.length > limits.turnTextCharsMax) throw invalidTurn(id, 'its text is too long')
  if (calls.length > limits.turnCallsMax) throw invalidTurn(id, `more than ${limits.turnCallsMax} calls`)
  const [inputTokens, outputTokens] = [usage?.inputTokens, usage?.outputTokens].map(countIn)
  return {
    text: text.toWellFormed(),
    calls: calls.map((call) => checkCall(id, call)),
    usage: defined({ inputTokens, outputTokens }),
  }
}

export const invalidTurn = (id: string, why: string): Failure => failedTurn(id, why, 'model.invalid')

/** A count of tokens or turns; undefined for what is none, or no sum can hold. */
export const countIn = (tokens: unknown): number | undefined =>
  Number.isSafeInteger(tokens) && (tokens as number) >= 0 && (tokens as number) <= limits.turnTokensMax
    ? (tokens as number)
    : undefined

function checkCall(model: string, { id, name, args }: ToolCall): ToolCall {
  const text = typeof args === 'string' ? args : textOf(args)
  if (typeof name !== 'string' || text === undefined) throw invalidTurn(model, 'a call without a name or arguments')
  if (Math.max(id.length, name.length) > limits.wireIdCharsMax || text.length > limits.callArgsCharsMax)
    throw invalidTurn(model, `the call ${quote(id)} is too long`)
  return { id, name: name.toWellFormed(), args: typeof args === 'string' ? text.toWellFormed() : argumentsIn(text) }
}

/** Undefined for what is no JSON, or lies deeper than it can be written. */
function textOf(args: unknown): string | undefined {
  try {
    return JSON.stringify(args)
  } catch {
    return undefined
  }
}

/** What is no JSON object that every reader reads alike stays text. Many providers write nothing where there are no arguments. */
export function argumentsIn(text: string): ToolCall['args'] {
  if (text.trim() === '') return {}
  try {
    const value = readJson(text)
    return isJsonObject(value) ? (value as { [member: string]: Json }) : text
  } catch {
    return text
  }
}

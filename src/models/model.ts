import { Failure } from '../base/failure.ts'
import { isObject } from '../base/object.ts'
import type { Model } from '../runs/turn.ts'
import { type AiSdkModel, aiSdkTurn } from './ai-sdk.ts'

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

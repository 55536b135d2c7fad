import { Failure, quote } from '../base/failure.ts'
import { defined, isObject } from '../base/object.ts'

/** What went wrong at a provider. `data.retryable` unless part of the answer `came`, or trying again would not help. */
export function turnFailure(id: string, error: unknown, signal: AbortSignal, came = false): Failure {
  if (signal.aborted) return failedTurn(id, 'the turn was stopped')
  if (error instanceof Failure) return error
  const said = layersOf(error)
  const status = said.map((layer) => Number(layer['statusCode'] ?? layer['status'] ?? layer['code'])).find(isError)
  const isLimited =
    status === 429 || status === 529 || said.some(({ type, code }) => /overload|rate_limit/i.test(`${type} ${code}`))
  const mayPass = status === undefined ? said.some(isNetwork) : status >= 500 || status === 408
  const message = said.map(({ message }) => message).find((text) => typeof text === 'string') ?? 'no reason given'
  const why = `${status === undefined ? '' : `status ${status}, `}${quote(cleaned(message))}`
  return failedTurn(id, why, isLimited ? 'model.limited' : 'model.failed', {
    retryable: isLimited || (mayPass && !came),
    ...defined({ status, retryAfterMs: said.map(waitOf).find(Number.isFinite) }),
  })
}

export const failedTurn = (
  id: string,
  why: string,
  code: 'model.failed' | 'model.limited' | 'model.invalid' = 'model.failed',
  data: object = { retryable: false },
): Failure => new Failure(code, `model ${quote(id)}: ${why}`, { model: id, ...data })

type Layer = Readonly<Record<string, unknown>>

/** An error with what it carries: providers put theirs into `data` or `error`, and some send a plain text. */
function layersOf(error: unknown): Layer[] {
  if (!isObject(error)) return [{ message: String(error), type: error }]
  return [error, error['error'], error['data'], isObject(error['data']) && error['data']['error']].filter(isObject)
}

const isError = (status: number): boolean => status >= 400 && status <= 599

const isNetwork = ({ isRetryable, message }: Layer): boolean => isRetryable === true || message === 'fetch failed'

/** Seconds or a date, or more exact what some providers add. */
function waitOf({ responseHeaders }: Layer): number {
  const { 'retry-after': after = '', 'retry-after-ms': ms } = isObject(responseHeaders) ? responseHeaders : {}
  const exact = Number(ms ?? Number(after || Number.NaN) * 1000)
  return Number.isFinite(exact) ? exact : Date.parse(String(after)) - Date.now()
}

/** Plain words and small numbers: a key, an address or a token is neither. */
const cleaned = (message: string): string => (message.slice(0, 500).replace(named, '').match(plain) ?? []).join(' ')

const named = /\b(?:bearer|basic|(?:key|token|secret|password|provided)["']?\s*[:=])\s*\S+/gi
const plain = /(?<!\S)["'(`]*(?![a-z]{2,4}[-_])(?:\p{L}[\p{L}'’_-]{0,23}|\d{1,7})["')`.,:;!?]*(?!\S)/giu

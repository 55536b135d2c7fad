import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Clock } from '../base/time.ts'
import type { Model, TurnRequest } from '../runs/turn.ts'
import { checkTurn } from './check-turn.ts'
import { failedTurn, turnFailure } from './turn-failure.ts'

export interface Retries {
  readonly retriesMax: number
  /** When the last attempt ends, by the clock. */
  readonly deadlineMs: number
  readonly clock: Clock
  /** Rejects as soon as the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Tries again what was limited, or failed before anything came; gives up what is silent for `limits.turnMs`. How often it
 * tried again stands in the turn, and in the `data` of a failure.
 */
export const withRetries = (model: Model, options: Retries) => ({
  turn: (request: TurnRequest) => tryTurn(model, request, options),
})

async function tryTurn(model: Model, request: TurnRequest, options: Retries) {
  for (let retries = 0; ; retries++) {
    try {
      return { ...checkTurn(model.id, await attempt(model, request, options)), retries }
    } catch (error) {
      const { code, message, data, help } = turnFailure(model.id, error, request.signal)
      const backoffMs = Math.min(limits.backoffMs * 2 ** retries, limits.backoffMaxMs)
      const waitMs = Math.max(backoffMs, Number(data['retryAfterMs']) || 0)
      const isLate = options.clock.now() + waitMs >= options.deadlineMs
      const mayPass = code === 'model.limited' || data['retryable'] === true
      if (!mayPass || retries >= options.retriesMax || isLate)
        throw new Failure(code, message, { ...data, retries }, help)
      // What ends the wait early ends the next attempt, too.
      await options.sleep(waitMs, request.signal).catch(() => undefined)
    }
  }
}

/** One attempt, which ends in silence, at the deadline or when the signal aborts, whatever the model does. */
async function attempt(model: Model, request: TurnRequest, { deadlineMs, clock, sleep }: Retries) {
  const over = new AbortController()
  const { signal } = over
  const leave = (): void => over.abort(request.signal.reason)
  request.signal.addEventListener('abort', leave, { once: true })
  let endMs = 0
  const onPart = (): void => {
    endMs = Math.min(clock.now() + limits.turnMs, deadlineMs)
  }
  const watch = async (): Promise<never> => {
    for (onPart(); clock.now() < endMs; ) await sleep(endMs - clock.now(), signal)
    throw failedTurn(model.id, endMs < deadlineMs ? 'it fell silent' : 'there is no time left')
  }
  try {
    request.signal.throwIfAborted()
    return await Promise.race([model.turn({ ...request, signal, onPart }), watch()])
  } finally {
    request.signal.removeEventListener('abort', leave)
    over.abort(ended)
  }
}

// A reason of its own costs less than the one that every abort without one is given.
const ended = new Error('the attempt is over')

import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import { scrubText } from '../evidence/redact.ts'
import type { CallError } from '../model/denial.ts'
import { deepFreeze } from '../policy/contract.ts'
import { type Attempt, type EventSpec, secretsOf } from './attempt.ts'
import type { CallContext, Capability } from './capability.ts'
import { type Chunks, openChunks } from './chunks.ts'
import { scrubbed } from './events.ts'

/** How the handler's part of a call ended. */
export type Ended =
  | { readonly outcome: 'success'; readonly data: Json }
  | { readonly outcome: 'failure' | 'indeterminate'; readonly error: CallError }

export interface Execution {
  readonly ended: Ended
  /** What the handler recorded on its way. */
  readonly emitted: readonly EventSpec[]
  readonly chunks: Chunks
}

/**
 * Runs the handler to its end, or to the end of its time. What it throws becomes a failure without a stack and without
 * the secrets of the call. A call with effects that was cut short is indeterminate: nobody knows whether they happened.
 */
export async function execute(
  attempt: Attempt,
  capability: Capability,
  onChunk: (chunk: Json) => void,
): Promise<Execution> {
  const emitted: EventSpec[] = []
  const chunks = openChunks(onChunk)
  const aborting = lazily(() => new AbortController())
  const context = callContext(attempt, capability, emitted, () => aborting().signal)
  try {
    const answer = capability.handler(attempt.input, context)
    // What is there at once needs no time, and nobody to watch it.
    const value = isLater(answer)
      ? await withinTime(drained(answer, chunks, aborting().signal), capability, aborting())
      : answer
    return { ended: { outcome: 'success', data: readResult(value) }, emitted, chunks }
  } catch (error) {
    return { ended: endedBy(error, attempt, capability), emitted, chunks }
  }
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const isLater = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && ('then' in answer || isStream(answer))

class TimedOut extends Error {}

async function withinTime<T>(work: Promise<T>, { descriptor }: Capability, abort: AbortController): Promise<T> {
  const ms = Math.min((descriptor.timeout_s ?? limits.callTimeoutMs / 1000) * 1000, limits.callTimeoutMaxMs)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // First it is too late, then the handler hears of it: what it makes of that is no longer its result.
      reject(new TimedOut())
      abort.abort(new TimedOut())
    }, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    // Nobody waits for what comes after the end of its time.
    work.catch(() => undefined)
  }
}

/** The result of a handler: what it returns, or what its stream returns after its chunks. */
async function drained(running: unknown, chunks: Chunks, signal: AbortSignal): Promise<unknown> {
  const value = await running
  if (!isStream(value)) return value
  for (;;) {
    const step = await value.next()
    if (step.done) return step.value
    // A stream without an end stops with its time.
    if (signal.aborted) return value.return?.(undefined)
    chunks.take(readResult(step.value))
  }
}

const isStream = (value: unknown): value is AsyncGenerator<unknown, unknown, undefined> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value

/** The result as plain JSON of its own; a class, a cycle or a function is no result. */
function readResult(value: unknown): Json {
  if (value === undefined) return null
  try {
    return (copyEvent({ value }, 'result') as { value: Json }).value
  } catch (error) {
    if (error instanceof Failure) throw new InvalidResult()
    throw error
  }
}

class InvalidResult extends Error {}

function endedBy(error: unknown, attempt: Attempt, { descriptor }: Capability): Ended {
  const effects = (descriptor.side_effects ?? []).length > 0
  const effect = effects ? 'unknown' : 'none'
  if (error instanceof TimedOut)
    return {
      outcome: effects ? 'indeterminate' : 'failure',
      error: { type: 'TimeoutError', code: 'timeout', message: 'the handler did not end in time', effect },
    }
  if (error instanceof InvalidResult) {
    const message = 'the handler returned something that is not JSON, or too much of it'
    return { outcome: 'failure', error: { type: 'InvalidResult', code: 'invalid_result', message, effect } }
  }
  return { outcome: 'failure', error: { ...described(error, secretsOf(attempt)), effect } }
}

/** The name and the first line of what was thrown. Its stack, and whatever else hangs on it, stays here. */
function described(error: unknown, secrets: readonly string[]): CallError {
  if (!(error instanceof Error)) return { type: 'Error', code: null, message: 'the handler failed' }
  const { code } = error as { code?: unknown }
  const whole = scrubbed(
    {
      type: /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(error.name) ? error.name : 'Error',
      code: typeof code === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : null,
      message: String(error.message),
    },
    secrets,
  )
  // Cut only now: half a secret would not be found any more.
  return { ...whole, message: whole.message.split('\n', 1)[0]?.slice(0, limits.errorCharsMax) ?? '' }
}

function callContext(attempt: Attempt, { descriptor }: Capability, emitted: EventSpec[], signal: () => AbortSignal) {
  const { call, subject, context } = attempt
  const made: CallContext = {
    invocationId: call.invocationId,
    correlation: deepFreeze(call.correlation),
    subject: deepFreeze({ ...subject }),
    actor: deepFreeze(call.actor),
    purpose: call.purpose ?? null,
    context: context.value,
    get signal() {
      return signal()
    },
    emit: (type, payload) => {
      checkEmitted(type, payload, attempt, descriptor.emits)
      if (emitted.length >= limits.emittedEventsMax)
        throw new Failure('field.invalid', `a call emits at most ${limits.emittedEventsMax} events`)
      emitted.push({ type, payload: copyEvent(payload, 'payload'), foreign: true })
    },
  }
  return Object.freeze(made)
}

function checkEmitted(type: string, payload: object, attempt: Attempt, emits: readonly string[]): void {
  if (!mayEmit(type, emits))
    throw new Failure(
      'field.invalid',
      `the capability does not declare the event type ${quote(type)}`,
      {},
      'add it to `emits`',
    )
  if (!emits.includes(type) && scrubText(type, secretsOf(attempt)) !== type)
    throw new Failure('field.invalid', 'an event type holds a sensitive value of the call')
  if (Object.hasOwn(payload, 'decision'))
    throw new Failure('field.invalid', 'an event payload has the member `decision`, the place of the call record')
}

const reserved = /^(?:execution|approval|safety|key|evidence|identity)_|^budget_exceeded$|^(?:ambit|chp)\./

/** Declared types, or reverse-DNS ones that can only be the author's own; never those of the protocol or ours. */
const mayEmit = (type: string, declared: readonly string[]): boolean =>
  !reserved.test(type) && (declared.includes(type) || /^[a-z][a-z0-9-]*(?:\.[a-z0-9_-]+){2,}$/.test(type))

import type { Json } from '../base/canonical.ts'
import { wireCode } from '../base/codes.ts'
import { advised, Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import { scrubValue } from '../evidence/redaction/redact.ts'
import type { CallError } from '../model/wire/denial.ts'
import { timeoutMsOf } from '../policy/worst-case.ts'
import { type Attempt, type EventSpec, secretsOf } from './attempt.ts'
import type { Capability } from './capability.ts'
import { type Chunks, noChunks, openChunks } from './chunks.ts'
import type { GatewayDeps } from './deps.ts'
import { CallEnded, Cancelled, type Effect, TimedOut } from './ended.ts'
import { scrubbed } from './events.ts'
import { handlerContext } from './handler-context.ts'
import { counted } from './limits/taken.ts'
import type { Watch } from './watch.ts'

/** How the handler's part of a call ended. */
export type Ended =
  | { readonly outcome: 'success'; readonly data: Json }
  | { readonly outcome: 'failure' | 'indeterminate'; readonly error: CallError; readonly isClaimed?: boolean }

export interface Execution {
  readonly ended: Ended
  /** What the handler recorded on its way. */
  readonly emitted: readonly EventSpec[]
  readonly chunks: Chunks
  /** Ends with the handler, where that goes on after its time: until then its effect may still happen. */
  readonly late?: Promise<unknown>
}

/**
 * Runs the handler to its end, or to the end of its time. What it throws becomes a failure without a stack and without
 * the secrets of the call. A call with effects that was cut short is indeterminate: nobody knows whether they happened.
 */
export async function execute(
  deps: Pick<GatewayDeps, 'secret' | 'digest'>,
  attempt: Attempt,
  capability: Capability,
  { chunk: onChunk, signal: leaving }: Watch,
): Promise<Execution> {
  const emitted: EventSpec[] = []
  let chunks = noChunks
  let working: Promise<unknown> | undefined
  const read = (value: unknown, effect: Effect): Json =>
    counted(withoutCredentials(readResult(value), attempt), attempt, effect)
  const abort = new AbortController()
  const context = handlerContext(deps, attempt, capability.descriptor, emitted, abort.signal)
  try {
    // Taken back while it was decided about and written down: nothing has to be stopped.
    if (leaving?.aborted) throw notBegun(attempt)
    const answer = capability.handler(attempt.input, context)
    // What is there at once needs no time, and nobody to watch it.
    if (!isLater(answer)) return { ended: { outcome: 'success', data: read(answer, 'done') }, emitted, chunks }
    const opened = openChunks(onChunk)
    chunks = opened
    const draining = drained(answer, (chunk) => opened.take(read(chunk, 'unknown')), abort.signal)
    working = draining
    const value = await withinTime(draining, capability, abort, leaving)
    return { ended: { outcome: 'success', data: read(value, 'done') }, emitted, chunks }
  } catch (error) {
    const late = working !== undefined && cutShort(error) && { late: working }
    return { ended: endedBy(error, attempt, capability), emitted, chunks, ...late }
  }
}

function notBegun({ taken }: Attempt): CallEnded {
  taken.cost = 0
  return new CallEnded('cancelled', 'the call was taken back before it began', { effect: 'none', type: 'Cancelled' })
}

const isLater = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && ('then' in answer || isStream(answer))

/** Waits for the handler until its time is over, or until whoever called takes the call back. */
async function withinTime<T>(
  work: Promise<T>,
  { descriptor }: Capability,
  abort: AbortController,
  leaving: AbortSignal | undefined,
): Promise<T> {
  const ms = timeoutMsOf(descriptor)
  const over = Promise.withResolvers<never>()
  // First it is too late, then the handler hears of it: what it makes of that is no longer its result.
  const end = (why: Error) => {
    over.reject(why)
    abort.abort(why)
  }
  const timer = setTimeout(() => end(new TimedOut()), ms)
  const left = () => end(new Cancelled())
  leaving?.addEventListener('abort', left, { once: true })
  if (leaving?.aborted) left()
  try {
    return await Promise.race([work, over.promise])
  } finally {
    clearTimeout(timer)
    leaving?.removeEventListener('abort', left)
    // Nobody waits for what comes after the end of its time.
    work.catch(() => undefined)
  }
}

/** The result of a handler: what it returns, or what its stream returns after its chunks. */
async function drained(running: unknown, take: (chunk: unknown) => void, signal: AbortSignal): Promise<unknown> {
  const value = await running
  if (!isStream(value)) return value
  for (;;) {
    const step = await value.next()
    if (step.done) return step.value
    // A stream without an end stops with its time.
    if (signal.aborted) return value.return?.(undefined)
    try {
      take(step.value)
    } catch (error) {
      // It is over for us, and may close what it has open.
      void Promise.resolve(value.return?.(undefined)).catch(() => undefined)
      throw error
    }
  }
}

const isStream = (value: unknown): value is AsyncGenerator<unknown, unknown, undefined> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value

/** The result as plain JSON of its own; a class, a cycle or a function is no result, and is refused with its place. */
export function readResult(value: unknown): Json {
  if (value === undefined) return null
  try {
    return copyEvent(value as Json, 'the result cannot be used', 2)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw Object.assign(new Error(error.message), { name: 'InvalidResult', code: 'invalid_result' })
  }
}

/** A secret that came back, as from a server that repeats what it was sent, goes no further. */
const withoutCredentials = (data: Json, { credentials }: Attempt): Json =>
  credentials.size === 0 ? data : scrubValue(data, [...credentials])

function endedBy(error: unknown, attempt: Attempt, { descriptor }: Capability): Ended {
  const effects = (descriptor.side_effects ?? []).length > 0
  const effect = effects ? 'unknown' : 'none'
  const cut = cutShort(error)
  if (cut !== undefined) return { outcome: effects ? 'indeterminate' : 'failure', error: { ...cut, effect } }
  const told = described(error, secretsOf(attempt))
  if (!(error instanceof CallEnded)) return { outcome: 'failure', error: { ...told, effect } }
  const known = effects ? error.effect : 'none'
  const outcome = known === 'unknown' ? 'indeterminate' : 'failure'
  return { outcome, error: { ...told, effect: known }, isClaimed: effects && error.isClaimed }
}

function cutShort(error: unknown): CallError | undefined {
  if (error instanceof TimedOut)
    return { type: 'TimeoutError', code: 'timeout', message: 'the handler did not end in time' }
  if (error instanceof Cancelled)
    return { type: 'Cancelled', code: 'cancelled', message: 'the call was taken back while it ran' }
  return undefined
}

/**
 * The name and the first line of what was thrown, with what to do about it where we know. Its stack, and whatever else
 * hangs on it, stays here.
 */
function described(error: unknown, secrets: readonly string[]): CallError {
  if (!(error instanceof Error)) return { type: 'Error', code: null, message: 'the handler failed' }
  const code = error instanceof Failure ? wireCode(error.code) : (error as { code?: unknown }).code
  const whole = scrubbed(
    {
      type: /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(error.name) ? error.name : 'Error',
      code: typeof code === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : null,
      message: error instanceof Failure ? advised(error) : String(error.message),
    },
    secrets,
  )
  // Cut only now: half a secret would not be found any more.
  return { ...whole, message: whole.message.split('\n', 1)[0]?.slice(0, limits.errorCharsMax) ?? '' }
}

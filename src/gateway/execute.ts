import type { Json } from '../base/canonical.ts'
import { wireCode } from '../base/codes.ts'
import { advised, Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import { scrubValue } from '../evidence/redaction/redact.ts'
import type { CallError } from '../model/wire/denial.ts'
import { timeoutMsOf } from '../policy/budgets.ts'
import type { Change } from '../storage/work.ts'
import { type Asked, type Attempt, type EventSpec, secretsOf, type ToWrite } from './attempt.ts'
import type { Capability } from './capability.ts'
import { type Chunks, noChunks, openChunks } from './chunks.ts'
import type { GatewayDeps } from './deps.ts'
import { CallEnded, Cancelled, type Effect, TimedOut } from './ended.ts'
import { scrubbed } from './events.ts'
import { handlerContext } from './handler-context.ts'
import { counted } from './limits/taken.ts'
import { CommitWith } from './own-capability.ts'

/** How the handler's part of a call ended. */
export type Ended =
  | { readonly outcome: 'success'; readonly data: Json }
  | { readonly outcome: 'failure' | 'indeterminate'; readonly error: CallError; readonly isClaimed?: boolean }

export interface Execution {
  readonly ended: Ended
  /** What the handler recorded on its way. */
  readonly emitted: readonly EventSpec[]
  readonly chunks: Chunks
  /** What a handler of ours wants committed with its outcome. */
  readonly change?: Change | undefined
  /** Ends with the handler, where that goes on after its time: until then its effect may still happen. */
  readonly late?: Promise<unknown>
}

/**
 * Runs the handler to its end, or to the end of its time. What it throws becomes a failure without a stack and without
 * the secrets of the call. A call with effects that was cut short is indeterminate: nobody knows whether they happened.
 */
export async function execute(
  deps: Pick<GatewayDeps, 'secret' | 'digest' | 'clock'>,
  attempt: Attempt,
  capability: Capability,
): Promise<Execution> {
  const { chunk: onChunk = () => undefined, signal: leaving } = attempt.driving
  const emitted: EventSpec[] = []
  let chunks = noChunks
  let working: Promise<unknown> | undefined
  const read = (value: unknown, effect: Effect): Json =>
    counted(withoutCredentials(readResult(value), attempt), attempt, effect)
  const succeed = (value: unknown): Execution => {
    const own = capability.commits && value instanceof CommitWith ? value : undefined
    const data = read(own === undefined ? value : own.data, 'done')
    return { ended: { outcome: 'success', data }, emitted, chunks, change: own?.change }
  }
  const abort = new AbortController()
  const context = handlerContext(deps, attempt, capability.descriptor, emitted, abort.signal)
  try {
    // Taken back while it was decided about and written down: nothing has to be stopped.
    if (leaving?.aborted) throw notBegun(attempt)
    const answer = capability.handler(attempt.input, context)
    // What is there at once needs no time, and nobody to watch it.
    if (!isLater(answer)) return succeed(answer)
    const opened = openChunks(onChunk)
    chunks = opened
    const draining = drained(answer, (chunk) => opened.take(read(chunk, 'unknown')), abort.signal)
    working = draining
    return succeed(await withinTime(draining, timeLeft(deps, attempt, capability), abort, leaving))
  } catch (error) {
    const late = working !== undefined && cutShort(error) && { late: working }
    return { ended: endedBy(error, attempt, capability), emitted, chunks, ...late }
  }
}

function notBegun({ taken }: ToWrite): CallEnded {
  taken.cost = 0
  return new CallEnded('cancelled', 'the call was taken back before it began', { effect: 'none', type: 'Cancelled' })
}

const isLater = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && ('then' in answer || isStream(answer))

/** A call of a run that has no effects ends with the run; one that has them gets its own time, to know what it did. */
function timeLeft({ clock }: Pick<GatewayDeps, 'clock'>, { call }: Asked, capability: Capability): number {
  const ms = timeoutMsOf(capability.descriptor)
  const deadlineMs = call.run?.bounds?.deadlineMs
  return deadlineMs === undefined || hasEffects(capability) ? ms : Math.min(ms, Math.max(0, deadlineMs - clock.now()))
}

/** Whether a call that is cut short may have changed something: what our own store is to keep comes with the outcome. */
const hasEffects = ({ descriptor, commits }: Capability): boolean =>
  commits !== true && (descriptor.side_effects ?? []).length > 0

/** Waits for the handler until its time is over, or until whoever called takes the call back. */
async function withinTime<T>(
  work: Promise<T>,
  ms: number,
  abort: AbortController,
  leaving: AbortSignal | undefined,
): Promise<T> {
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
const withoutCredentials = (data: Json, { credentials }: Asked): Json =>
  credentials.size === 0 ? data : scrubValue(data, [...credentials])

function endedBy(error: unknown, attempt: Asked, capability: Capability): Ended {
  const effects = hasEffects(capability)
  const effect = effects ? 'unknown' : 'none'
  const cut = cutShort(error)
  if (cut !== undefined) return { outcome: effects ? 'indeterminate' : 'failure', error: { ...cut, effect } }
  const told = described(error, secretsOf(attempt))
  if (!(error instanceof CallEnded)) return { outcome: 'failure', error: { ...told, effect } }
  const known = effects ? error.effect : 'none'
  const outcome = known === 'unknown' ? 'indeterminate' : 'failure'
  return { outcome, error: { ...told, effect: known }, isClaimed: effects && error.isClaimed }
}

/** How a call of ours ends whose change was refused: nothing of it was kept. */
export const endedByChange = (error: Failure, attempt: Asked): Ended => ({
  outcome: 'failure',
  error: { ...described(error, secretsOf(attempt)), effect: 'none' },
})

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

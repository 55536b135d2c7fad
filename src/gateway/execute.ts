import { micro } from '../base/amount.ts'
import type { Json } from '../base/canonical.ts'
import { advised, Failure, quote } from '../base/failure.ts'
import { wireCode } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import { digestChunks } from '../evidence/digests.ts'
import { scrubText, scrubValue } from '../evidence/redaction/redact-values.ts'
import type { CallError } from '../model/wire/denial.ts'
import { timeoutMsOf } from '../policy/budgets.ts'
import { deepFreeze } from '../policy/contract.ts'
import type { Change } from '../storage/work.ts'
import { type Attempt, type EventSpec, type Resolved, secretsOf } from './attempt.ts'
import { idempotencyKeyOf, recordKey } from './call.ts'
import { type CallContext, type Capability, CommitWith } from './capability.ts'
import { CallEnded, Cancelled, type Effect, TimedOut } from './ended.ts'
import { checkWords, scrubbed } from './events.ts'

export type Ended =
  | { readonly outcome: 'success'; readonly data: Json }
  | { readonly outcome: 'failure' | 'indeterminate'; readonly error: CallError; readonly isClaimed?: boolean }

export interface Execution {
  readonly ended: Ended
  readonly emitted: readonly EventSpec[]
  readonly chunks: Chunks
  /** What a handler of ours wants committed with its outcome. */
  readonly change?: Change | undefined
  /** Ends with the handler, where that goes on after its time: until then its effect may still happen. */
  readonly late?: Promise<unknown>
}

/** Runs the handler to its end or that of its time. A call with effects that was cut short is indeterminate. */
export async function execute(attempt: Resolved): Promise<Execution> {
  const { capability } = attempt
  const { chunk: onChunk = () => undefined, signal: leaving } = attempt.driving
  const emitted: EventSpec[] = []
  const chunks = new Chunks()
  let working: Promise<unknown> | undefined
  const succeed = (value: unknown): Execution => {
    const own = (capability.commits || capability.inRuns) && value instanceof CommitWith ? value : undefined
    attempt.scopes = own?.scopes ?? []
    const data = readAnswer(attempt, own === undefined ? value : own.data, 'done')
    return { ended: { outcome: 'success', data }, emitted, chunks, change: own?.change }
  }
  const abort = new AbortController()
  try {
    // Taken back while it was decided about and written down: nothing has to be stopped.
    if (leaving?.aborted) throw notBegun(attempt)
    const context = handlerContext(attempt, emitted, abort.signal)
    const tool = attempt.call.run?.bounds?.tools.get(attempt.call.capabilityId)
    const answer = tool
      ? tool.handler(attempt.input, context, attempt.granted)
      : capability.handler(attempt.input, context)
    // A synchronous answer needs neither a timer nor a listener.
    if (!isLater(answer)) return succeed(answer)
    working = drained(answer, (chunk) => chunks.take(readAnswer(attempt, chunk, 'unknown'), onChunk), abort.signal)
    return succeed(await withinTime(working, timeLeft(attempt), abort, leaving))
  } catch (error) {
    const late = working !== undefined && cutShort(error, attempt) && { late: working }
    return { ended: endedBy(error, attempt), emitted, chunks, ...late }
  }
}

/** What a stream has given so far, counted and digested as it comes: it may be longer than what anybody wants to hold. */
class Chunks {
  count = 0
  /** Those that a repeat is given again: all of them, or none once they are too many. */
  kept: Json[] = []
  digest: ReturnType<typeof digestChunks> | undefined
  private bytes = 0

  take(chunk: Json, onChunk: (chunk: Json) => void): void {
    this.count++
    this.digest ??= digestChunks()
    this.bytes += this.digest.add(chunk)
    if (this.count <= limits.chunksKeptMax && this.bytes <= limits.recordedBytesMax) this.kept.push(chunk)
    else this.kept = []
    try {
      onChunk(chunk)
    } catch {
      // The listener has failed; the call goes on.
    }
  }
}

function notBegun({ taken }: Attempt): CallEnded {
  taken.cost = 0
  return new CallEnded('cancelled', 'the call was taken back before it began', { effect: 'none', type: 'Cancelled' })
}

const isLater = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && ('then' in answer || isStream(answer))

/** A call of a run that has no effects ends with the run; one that has them gets its own time, to know what it did. */
function timeLeft({ deps, call, capability }: Resolved): number {
  const ms = timeoutMsOf(capability.descriptor)
  const deadlineMs = call.run?.bounds?.deadlineMs
  return deadlineMs === undefined || hasEffects(capability)
    ? ms
    : Math.min(ms, Math.max(0, deadlineMs - deps.clock.now()))
}

/** Whether a call that is cut short may have changed something: what our own store is to keep comes with the outcome. */
const hasEffects = ({ descriptor, commits }: Capability): boolean =>
  commits !== true && (descriptor.side_effects ?? []).length > 0

/** Waits for the handler until its time is over, or until the caller cancels the call. */
async function withinTime<T>(work: Promise<T>, ms: number, abort: AbortController, leaving: AbortSignal | undefined) {
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
    // Without a listener a failure after that time would be an unhandled rejection.
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

/** What a handler answered, counted where a budget has reserved bytes for it: no more than those goes on its way. */
function readAnswer({ credentials, reserved, taken }: Attempt, value: unknown, effect: Effect): Json {
  const answered = readResult(value)
  // A secret that came back, as from a server that repeats what it was sent, goes no further.
  const data = credentials.size === 0 ? answered : scrubValue(answered, [...credentials])
  const most = reserved.find(({ amounts }) => amounts.bytes !== undefined)?.amounts.bytes
  if (most === undefined) return data
  const bytes = taken.bytes + Buffer.byteLength(JSON.stringify(data))
  taken.bytes = Math.min(bytes, most)
  if (bytes <= most) return data
  const message = `the result has more than the ${most} bytes that are reserved for it`
  throw new CallEnded('result_too_large', message, { effect, type: 'ResultTooLarge' })
}

function endedBy(error: unknown, attempt: Resolved): Ended {
  const effects = hasEffects(attempt.capability)
  const effect = effects ? 'unknown' : 'none'
  const cut = cutShort(error, attempt)
  if (cut !== undefined) return { outcome: effects ? 'indeterminate' : 'failure', error: { ...cut, effect } }
  const told = described(error, secretsOf(attempt))
  if (!(error instanceof CallEnded)) return { outcome: 'failure', error: { ...told, effect } }
  const known = effects ? error.effect : 'none'
  const outcome = known === 'unknown' ? 'indeterminate' : 'failure'
  return { outcome, error: { ...told, effect: known }, isClaimed: effects && error.isClaimed }
}

/** How a call of ours ends whose change was refused: nothing of it was kept. */
export const endedByChange = (error: Failure, attempt: Attempt): Ended => ({
  outcome: 'failure',
  error: { ...described(error, secretsOf(attempt)), effect: 'none' },
})

function cutShort(error: unknown, { call }: Resolved): CallError | undefined {
  const late = (code: string, what: string) => ({ type: 'TimeoutError', code, message: `${what} in time` })
  const resource = call.run?.bounds?.tools.get(call.capabilityId)?.resource
  if (error instanceof TimedOut)
    return resource
      ? late('resource_provider_timeout', `resource ${quote(resource.name)} did not answer`)
      : late('timeout', 'the handler did not end')
  if (error instanceof Cancelled)
    return { type: 'Cancelled', code: 'cancelled', message: 'the call was taken back while it ran' }
  return undefined
}

/** The name and the first line of what was thrown, never its stack, with what to do about it where we know. */
function described(error: unknown, secrets: readonly string[]): CallError {
  if (!(error instanceof Error)) return { type: 'Error', code: null, message: 'the handler failed' }
  const code = error instanceof Failure ? wireCode(error.code) : (error as { code?: unknown }).code
  const whole = scrubbed(
    {
      type: /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(error.name) ? error.name : 'Error',
      code: typeof code === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(code) && !reservedCodes.test(code) ? code : null,
      message: error instanceof Failure ? advised(error) : String(error.message),
    },
    secrets,
  )
  // Cut only now: half a secret would not be found any more.
  return { ...whole, message: whole.message.split('\n', 1)[0]?.slice(0, limits.errorCharsMax) ?? '' }
}

// What recovery says of a call: a handler that said it would have its run wait for what is on record, or call again.
const reservedCodes = /^(?:interrupted|not_executed|outcome_not_recorded)$/

/** What a handler is told of its call, and may do with it: an object that may be passed on whole. */
function handlerContext(attempt: Resolved, emitted: EventSpec[], signal: AbortSignal): CallContext {
  const { deps, call, subject, context } = attempt
  return Object.freeze({
    invocationId: call.invocationId,
    idempotencyKey: idempotencyKeyOf(deps, recordKey(call)),
    correlation: deepFreeze(call.correlation),
    subject: deepFreeze({ ...subject }),
    actor: deepFreeze(call.actor),
    purpose: call.purpose ?? null,
    context: context.value,
    signal,
    secret: (name: string) => secretOf(attempt, name),
    spent: (cost: number | string) => spend(attempt, cost),
    emit: (type: string, payload: Payload) => emit(attempt, emitted, type, payload),
  })
}

type Payload = { readonly [key: string]: Json }

async function secretOf({ deps, capability, credentials }: Resolved, name: string): Promise<string> {
  if (!Object.hasOwn(capability.descriptor.metadata?.credentials ?? {}, name))
    throw new Failure('secret.not_found', `the capability does not name the secret ${quote(name)}`, { name })
  const value = (await deps.secret(`secret:${name}`)).reveal()
  credentials.add(value)
  return value
}

function spend({ taken }: Attempt, cost: number | string): void {
  if (!/^(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?$/.test(String(cost)))
    throw new Failure('field.invalid', 'a cost is a whole number or decimal text, and not negative')
  taken.cost = micro(cost, 'up')
}

function emit(attempt: Resolved, emitted: EventSpec[], type: string, payload: Payload): void {
  const { emits } = attempt.capability.descriptor
  if (!mayEmit(type, emits)) {
    const message = `the capability does not declare the event type ${quote(type)}`
    throw new Failure('field.invalid', message, {}, 'add it to `emits`')
  }
  if (!emits.includes(type) && scrubText(type, secretsOf(attempt)) !== type)
    throw new Failure('field.invalid', 'an event type holds a sensitive value of the call')
  if (Object.hasOwn(payload, 'decision'))
    throw new Failure('field.invalid', 'an event payload has the member `decision`, the place of the call record')
  if (emitted.length >= limits.emittedEventsMax)
    throw new Failure('field.invalid', `a call emits at most ${limits.emittedEventsMax} events`)
  const copy = copyEvent(payload, 'payload')
  checkWords(copy, 'the payload of an event')
  emitted.push({ type, payload: copy, foreign: true })
}

const reserved = /^(?:execution|approval|safety|key|evidence|identity)_|^budget_exceeded$|^(?:ambit|chp)\./

/** Declared types, or reverse-DNS ones that can only be the author's own; never those of the protocol or ours. */
const mayEmit = (type: string, declared: readonly string[]): boolean =>
  !reserved.test(type) && (declared.includes(type) || /^[a-z][a-z0-9-]*(?:\.[a-z0-9_-]+){2,}$/.test(type))

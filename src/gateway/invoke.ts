import { Failure } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { Refusal } from '../policy/gates/refusal.ts'
import { rememberedOf } from '../policy/history.ts'
import { approvalRecords, type StoredApproval } from '../storage/tables/approvals.ts'
import type { Change } from '../storage/work.ts'
import { isOver, returnApproval, withdraw } from './approvals/ask.ts'
import type { Desk } from './approvals/desk.ts'
import { expire } from './approvals/expire.ts'
import { isOpen, privateOf, recordKey } from './approvals/request.ts'
import { type Attempt, type EventSpec, startAttempt } from './attempt.ts'
import { type Call, fingerprintOf } from './call.ts'
import { conclude } from './conclude.ts'
import type { GatewayDeps, Offer } from './deps.ts'
import type { Effect } from './ended.ts'
import { type Execution, endedByChange, execute } from './execute.ts'
import { passGates, recordRefusal, scopeGate } from './gates/gates.ts'
import { rememberAgain } from './gates/history.ts'
import { type Entry, type Finishing, interruptedOf, type Journal, refundable, type Started } from './journal.ts'
import { settleAnswered, settleTaken } from './limits/budgets.ts'
import { LimitExceeded, refuseLimit } from './limits/limits.ts'
import { type Found, lookUp, unknownCall } from './look-up.ts'
import { appendEffect, endedAs, isUnknown } from './recovery/reconcile.ts'
import type { KnownOutcome, UnrecordedOutcomes } from './recovery/unrecorded.ts'
import { type Ending, type Recorded, replayed, resultOf } from './results.ts'
import type { Driving } from './run.ts'
import { FactsChanged } from './write.ts'

export interface Host {
  readonly deps: GatewayDeps
  readonly journal: Journal
  readonly desk: Desk
  /** Calls that this process runs right now, by record key. */
  readonly running: Map<string, Promise<Recorded>>
  /** Calls whose intent this process is writing right now, by record key. */
  readonly starting: Set<{ readonly key: string }>
  readonly unrecorded: UnrecordedOutcomes
  /** Calls that ended here before their handlers did, by record key: what these do is not known yet. */
  readonly late: Set<string>
  /** Asks about calls of which nobody knows what they did, as far as it is time to. Nobody waits for it. */
  ask(): void
  /** Falls when the host closes. */
  readonly closing: AbortSignal
}

/** Takes one call from its envelope to its result, whatever that is. */
export async function invoke(host: Host, call: Call, driving: Driving = {}): Promise<Recorded> {
  const scope = scopeGate(call)
  if (scope !== undefined) {
    const attempt = startAttempt(call, driving)
    return { result: await host.journal.refuse(attempt, undefined, recordRefusal(attempt, scope)) }
  }
  const fingerprint = fingerprintOf(call)
  for (let overtaken = false; ; ) {
    const found = call.named
      ? await lookUp(host, call, fingerprint, { signal: driving.signal, overtaken })
      : unknownCall
    if ('result' in found) {
      await rememberAgain(host.deps, call, found)
      return found
    }
    try {
      return await run(host, call, { fingerprint, ...found }, driving)
    } catch (error) {
      // Another call was first with this id, or a person decided about it: that is the result. Or the history went on.
      if (!isOvertaken(error)) throw error
      overtaken ||= error instanceof Failure
    }
  }
}

const isOvertaken = (error: unknown): boolean =>
  error instanceof FactsChanged ||
  (error instanceof Failure && (error.code === 'claim.taken' || error.code === 'approval.used'))

async function run(host: Host, call: Call, entry: Entry & Found, driving: Driving): Promise<Recorded> {
  const offer = host.deps.offer()
  const attempt = entry.standing === 'new' ? startAttempt(call, driving) : await resumed(host, call, driving)
  const stop = await passGates(host.deps, offer, attempt)
  if (stop !== undefined && 'settled' in stop) {
    await rememberAgain(host.deps, call, stop.settled)
    return { ...stop.settled, result: replayed(stop.settled.result) }
  }
  if (stop !== undefined) return { result: await refused(host, attempt, entry, stop) }
  try {
    const started = await begin(host, attempt, entry)
    if (isDeferring(call.mode)) return await defer(host, offer, attempt, started)
    return await perform(host, offer, attempt, started)
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error
    // The race for the last use was lost: of what the gates behind that one did, nothing is left.
    attempt.events.length = 0
    attempt.changes.length = 0
    attempt.approval = null
    const refusal = recordRefusal(attempt, refuseLimit(attempt, error))
    return { result: await refused(host, attempt, entry, refusal) }
  }
}

/** Writes the intent. Where nobody knows whether it was written the call does not run; should it be on record, it is ended. */
async function begin(host: Host, attempt: Attempt, entry: Entry): Promise<Started> {
  const { journal, running, starting, unrecorded, deps } = host
  const start = { key: recordKey(attempt.call) }
  starting.add(start)
  try {
    const started = await journal.start(attempt, entry)
    // The id is taken anew: what became of it before counts no longer.
    unrecorded.delete(start.key)
    return started
  } catch (error) {
    // One that did begin has taken the id: this start is not on record then.
    if (isUnknown(error) && !running.has(start.key))
      unrecorded.add(start.key, unrecorded.get(start.key) ?? notStarted, deps.clock.now())
    throw error
  } finally {
    starting.delete(start)
  }
}

const notStarted: KnownOutcome = { effect: 'none', began: false }

/** A call that waited for people, with what they were asked, and with the payload that one of them has edited. */
async function resumed(host: Host, again: Call, driving: Driving): Promise<Attempt> {
  const { deps, desk } = host
  const requests = await deps.store.read(() => approvalRecords.findByCall(deps.tenant, recordKey(again)))
  const open = requests.find(({ request }) => isOpen(request))
  if (open !== undefined && isOver(deps, open.request)) {
    await expire(desk, open)
    throw new Failure('claim.taken', 'the time to approve the call is over')
  }
  const call = inTaskOf(requests[0], again)
  const { edited, call: kept } = open === undefined ? {} : privateOf(open)
  if (!edited || kept === undefined) return { ...startAttempt(call, driving), requests }
  return { ...startAttempt({ ...call, payload: kept.payload }, driving), requests, edited: true }
}

/** The call in the task that people were asked in, whatever the repeat says: one call is one story. */
const inTaskOf = (asked: StoredApproval | undefined, call: Call): Call =>
  asked === undefined
    ? call
    : {
        ...call,
        correlation: { ...call.correlation, correlation_id: asked.request.correlation.correlation_id },
        opens: false,
      }

async function refused(
  host: Host,
  attempt: Attempt,
  { recorded, ...entry }: Entry & Found,
  { outcome, denial }: Refusal,
): Promise<InvocationResult> {
  const asks = denial.code === 'approval_required'
  // The same call asking again while people think about it: nothing new to write.
  if (recorded !== undefined && asks && attempt.changes.length === 0) return { ...replayed(recorded.result), denial }
  if (attempt.minted === undefined)
    for (const { request } of attempt.requests) if (isOpen(request)) attempt.changes.push(withdraw(request.approval_id))
  return host.journal.refuse(attempt, entry, { outcome, denial })
}

const isDeferring = (mode: string): boolean => mode === 'async' || mode === 'fire_and_forget'

/** Answers that the call was accepted; it is then carried out under an id of its own, with this one as its cause. */
async function defer(host: Host, offer: Offer, attempt: Attempt, started: Started): Promise<Recorded> {
  const { call } = attempt
  const correlation = { ...call.correlation, causation_id: call.invocationId }
  const later: Call = { ...call, invocationId: host.deps.ids.next('inv'), named: false, correlation, opens: false }
  const deferred: Attempt = {
    ...attempt,
    call: later,
    driving: {},
    events: [],
    changes: [],
    starting: [],
    // What carries the call out settles what is reserved for it.
    reserved: [...attempt.reserved],
    credentials: new Set(attempt.credentials),
  }
  const data = { accepted: true, deferred_invocation_id: later.invocationId }
  const events: EventSpec[] = [{ type: 'execution_completed', outcome: 'success', payload: data }]
  try {
    const accepted = { attempt, started, ending: { outcome: 'success', data }, more: { events, chunks: [] } } as const
    const { result, begun } = await host.journal.handOver(accepted, deferred)
    // Its end is on record under its own id; should this process end before it, it is found and called indeterminate.
    void perform(host, offer, deferred, begun).catch(() => undefined)
    return { result }
  } catch (error) {
    // What nobody was promised is not carried out, though its start may be on record: nobody knows what became of the commit.
    host.unrecorded.add(recordKey(later), notStarted, host.deps.clock.now())
    return { result: await overFor(host, attempt, started, { over: notStarted, error }) }
  }
}

/** Carries a call out whose intent is on record, and writes its outcome. */
function perform(host: Host, offer: Offer, attempt: Attempt, started: Started): Promise<Recorded> {
  const key = recordKey(attempt.call)
  const performing = carryOut(host, offer, attempt, started).finally(() => host.running.delete(key))
  host.running.set(key, performing)
  host.unrecorded.delete(key)
  return performing
}

/** From here on the effect may have happened: whatever is thrown, the answer is a result. */
async function carryOut(host: Host, offer: Offer, attempt: Attempt, started: Started): Promise<Recorded> {
  const { capability } = attempt
  let over: KnownOutcome = { effect: capability?.commits ? 'none' : 'unknown', began: true }
  try {
    if (capability === undefined) throw new Error('a call without a capability passed the gates')
    const begun = host.deps.clock.now()
    const done = await execute(host.deps, attempt, capability)
    const settlement = settleTaken(attempt, host.deps.clock.now() - begun)
    const finish = async (execution: Execution): Promise<Recorded> => {
      const { ending, more } = outcomeFor(host, offer, attempt, { execution, settlement })
      over = { effect: effectOf(ending), began: true, settlement, reserved: refundable(attempt), ...answerOf(ending) }
      if (capability.commits) over = { effect: 'none', began: true, settlement }
      const result = await host.journal.finish(attempt, started, ending, more)
      if (ending.outcome === 'indeterminate') askAfter(host, recordKey(attempt.call), execution.late)
      const { chunks, isCut } = more
      const given = execution.chunks.count > 0 && { chunks, ...(isCut && { isCut }) }
      return { result, ...given, carries: rememberedOf(capability.descriptor) }
    }
    return await finish(done).catch((error: unknown) => {
      if (!(error instanceof ChangeRefused)) throw error
      return finish({ ...done, ended: endedByChange(error.failure, attempt), change: undefined })
    })
  } catch (error) {
    return { result: await overFor(host, attempt, started, { over, error }) }
  }
}

/** How a call ends, and what is written with that. A result that is refused changes nothing. */
function outcomeFor(
  { deps }: Host,
  offer: Offer,
  attempt: Attempt,
  { execution, settlement }: { readonly execution: Execution; readonly settlement: readonly Change[] },
): { readonly ending: Ending; readonly more: Finishing } {
  const returned = returnApproval(deps, attempt, execution.ended)
  const { ending, events } = conclude(deps, offer, attempt, {
    ...execution,
    ...(returned && { ended: returned.ended }),
  })
  const { kept: chunks, count } = execution.chunks
  const own = execution.change !== undefined && ending.outcome === 'success' ? [refusable(execution.change)] : []
  const changes = [...settlement, ...own, ...(returned ? [returned.change] : [])]
  const isCut = count > chunks.length && ({ isCut: true } as const)
  return { ending, more: { events, chunks, ...isCut, changes, ...(returned && { waits: true }) } }
}

/** The change that a handler handed back could not be made. */
class ChangeRefused extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

const refusable = (change: Change): Change =>
  function* (tenant) {
    try {
      return yield* change(tenant)
    } catch (error) {
      throw error instanceof Failure && !error.code.startsWith('store.') ? new ChangeRefused(error) : error
    }
  }

/** Asks what a call did once its handler has ended, and not before: an answer is final. */
function askAfter(host: Host, key: string, late: Promise<unknown> | undefined): void {
  const ended = () => {
    host.late.delete(key)
    host.ask()
  }
  if (late !== undefined) host.late.add(key)
  void Promise.resolve(late).then(ended, ended)
}

const answerOf = ({ outcome, data = null }: Ending) => outcome === 'success' && { data }

/** What a handler that has ended is known to have done. */
const effectOf = ({ outcome, error }: Ending): Effect =>
  outcome === 'failure' || outcome === 'indeterminate' ? (error?.effect ?? 'unknown') : 'done'

/**
 * The call is over, and nobody can be told so by the record: the store is away, or others took this process for gone. What
 * the record says of it, or will say, is not known here; only what became of the world, as far as that is.
 */
async function overFor(
  { deps, unrecorded }: Host,
  attempt: Attempt,
  started: Started,
  { over, error }: { readonly over: KnownOutcome; readonly error: unknown },
): Promise<InvocationResult> {
  const { effect, settlement } = over
  const now = deps.clock.now()
  if (!(error instanceof Failure && error.code === 'claim.not_found'))
    unrecorded.add(recordKey(attempt.call), over, now)
  else if (effect !== 'unknown' && !attempt.capability?.commits) {
    // Others have said that nobody knows, and settled it so: now somebody does.
    const taken = settlement && [...settleAnswered(attempt.reserved), ...settlement]
    const found = { ...('data' in over && { data: over.data }), effect, taken, isOwn: true }
    await appendEffect(deps, recordKey(attempt.call), interruptedOf(attempt, started), found).catch(() => undefined)
  }
  const { at: startedAt, evidenceIds } = started
  // Whether the change was committed with the outcome, only the record will tell.
  const told = attempt.capability?.commits && isUnknown(error) ? ({ ...over, effect: 'unknown' } as const) : over
  const ending = { outcome: 'indeterminate', error: endedAs(told) } as const
  return resultOf(attempt, ending, { evidenceIds, startedAt, completedAt: formatTime(now) })
}

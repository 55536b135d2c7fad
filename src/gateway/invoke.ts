import { Failure } from '../base/failure.ts'
import { formatTime } from '../base/time.ts'
import type { InvocationResult } from '../model/result.ts'
import type { Refusal } from '../policy/gates/refusal.ts'
import { approvalRecords, type StoredApproval } from '../storage/approvals.ts'
import type { Desk } from './approval-desk.ts'
import { isOpen, privateOf, recordKey } from './approval-request.ts'
import { isOver, withdraw } from './approvals.ts'
import { type Attempt, type EventSpec, startAttempt } from './attempt.ts'
import { overBudget } from './budgets.ts'
import { type Call, fingerprintOf } from './call.ts'
import { conclude } from './conclude.ts'
import type { GatewayDeps, Offer } from './deps.ts'
import type { Doubts } from './doubts.ts'
import type { Effect } from './ended.ts'
import type { Endings } from './endings.ts'
import { execute } from './execute.ts'
import { expire } from './expire-approvals.ts'
import { noted, passGates, scopeGate } from './gates.ts'
import { HistoryChanged, rememberAgain } from './history.ts'
import { type Entry, interruptedOf, type Journal, OverUse, type Started } from './journal.ts'
import { type Found, lookUp, unknownCall } from './look-up.ts'
import { appendEffect, endedAs, isUnknown } from './reconcile.ts'
import { NoRoom, noRoom, settlements } from './reservations.ts'
import { type Ending, type Recorded, replayed, resultOf } from './results.ts'
import { unwatched, type Watch } from './watch.ts'

export interface Host {
  readonly deps: GatewayDeps
  readonly journal: Journal
  readonly desk: Desk
  /** Calls that this process runs right now, by record key. */
  readonly running: Map<string, Promise<Recorded>>
  /** Calls that are over here and whose end could not be written. */
  readonly endings: Endings
  /** Calls to ask their capability about. */
  readonly doubts: Doubts
  /** Asks about those, as far as it is time to. Nobody waits for it. */
  ask(): void
}

/** Takes one call from its envelope to its result, whatever that is. Chunks of a stream are told as they come. */
export async function invoke(host: Host, call: Call, watch: Watch = unwatched): Promise<Recorded> {
  const scope = scopeGate(call)
  if (scope !== undefined) {
    const attempt = startAttempt(call)
    return { result: await host.journal.refuse(attempt, undefined, noted(attempt, scope)) }
  }
  const fingerprint = fingerprintOf(call)
  for (;;) {
    const found = call.named ? await lookUp(host, call, fingerprint) : unknownCall
    if ('result' in found) {
      await rememberAgain(host.deps, call, found.result)
      return found
    }
    try {
      return await run(host, call, { fingerprint, ...found }, watch)
    } catch (error) {
      // Somebody else was first with this id, or decided about it: theirs is the result. Or the session went on.
      if (!isOvertaken(error)) throw error
    }
  }
}

const isOvertaken = (error: unknown): boolean =>
  error instanceof HistoryChanged ||
  (error instanceof Failure && (error.code === 'claim.taken' || error.code === 'approval.used'))

async function run(host: Host, call: Call, entry: Entry & Found, watch: Watch): Promise<Recorded> {
  const offer = host.deps.offer()
  const attempt = entry.standing === 'new' ? startAttempt(call) : await resumed(host, call)
  const refusal = await passGates(host.deps, offer, attempt)
  if (refusal !== undefined) return { result: await refused(host, attempt, entry, refusal) }
  try {
    const started = await begin(host, attempt, entry)
    if (isDeferring(call.mode)) return await defer(host, offer, attempt, started)
    return await running(host, offer, attempt, started, watch)
  } catch (error) {
    if (!(error instanceof OverUse || error instanceof NoRoom)) throw error
    // The race for the last use was lost: of what the gates behind that one did, nothing is left.
    attempt.events.length = 0
    attempt.changes.length = 0
    attempt.approval = null
    const over = error instanceof OverUse ? overBudget(attempt, error.use, error.used) : noRoom(attempt, error)
    return { result: await refused(host, attempt, entry, noted(attempt, over)) }
  }
}

/** Writes the intent. Where nobody knows whether it was written the call does not run; should it be on record, it is ended. */
async function begin(host: Host, attempt: Attempt, entry: Entry): Promise<Started> {
  const { journal, running, endings, deps } = host
  const key = recordKey(attempt.call)
  // Should the id be taken anew, what became of it before counts no longer.
  const before = endings.get(key)
  endings.delete(key)
  try {
    return await journal.start(attempt, entry)
  } catch (error) {
    const isNew = before === undefined ? 'none' : 'unknown'
    const effect = isUnknown(error) ? isNew : before
    if (effect !== undefined && !running.has(key)) endings.add(key, effect, deps.clock.now())
    throw error
  }
}

/** A call that waited for people, with what they were asked, and with the payload that one of them has edited. */
async function resumed(host: Host, again: Call): Promise<Attempt> {
  const { deps, desk } = host
  const requests = await deps.store.read(() => approvalRecords.findByCall(deps.tenant, recordKey(again)))
  const open = requests.find(({ request }) => isOpen(request))
  if (open !== undefined && isOver(deps, open.request)) {
    await expire(desk, open)
    throw new Failure('claim.taken', 'the time to approve the call is over')
  }
  const call = inTaskOf(requests[0], again)
  const { edited, call: kept } = open === undefined ? {} : privateOf(open)
  if (!edited || kept === undefined) return { ...startAttempt(call), requests }
  return { ...startAttempt({ ...call, payload: kept.payload }), requests, edited: true }
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
  if (recorded !== undefined && asks && attempt.minted === undefined) return { ...replayed(recorded.result), denial }
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
    events: [],
    uses: [],
    changes: [],
    starting: [],
    // What carries the call out settles what is reserved for it.
    reserved: [...attempt.reserved],
    credentials: new Set(),
  }
  const data = { accepted: true, deferred_invocation_id: later.invocationId }
  const events: EventSpec[] = [{ type: 'execution_completed', outcome: 'success', payload: data }]
  try {
    const accepted = { attempt, started, ending: { outcome: 'success', data }, more: { events, chunks: [] } } as const
    const { result, begun } = await host.journal.handOver(accepted, deferred)
    // Its end is on record under its own id; should this process end before it, it is found and called indeterminate.
    void running(host, offer, deferred, begun, unwatched).catch(() => undefined)
    return { result }
  } catch {
    // What nobody was promised is not carried out, though its start may be on record: nobody knows what became of the commit.
    host.endings.add(recordKey(later), 'none', host.deps.clock.now())
    return { result: unwritten(host, attempt, started, 'none') }
  }
}

async function running(host: Host, offer: Offer, attempt: Attempt, started: Started, watch: Watch): Promise<Recorded> {
  const key = recordKey(attempt.call)
  const performing = perform(host, offer, attempt, started, watch)
  host.running.set(key, performing)
  try {
    return await performing
  } finally {
    host.running.delete(key)
  }
}

/** From here on the effect may have happened: whatever is thrown, the answer is a result. */
async function perform(host: Host, offer: Offer, attempt: Attempt, started: Started, watch: Watch): Promise<Recorded> {
  const { capability } = attempt
  let effect: Effect = 'unknown'
  try {
    if (capability === undefined) throw new Error('a call without a capability passed the gates')
    const begun = host.deps.clock.now()
    const done = await execute(host.deps, attempt, capability, watch)
    const changes = settlements(attempt, host.deps.clock.now() - begun)
    // What it has cost is known only if it says so; otherwise it is given back should it turn out that nothing happened.
    const reserved = attempt.taken.cost === undefined ? attempt.reserved : []
    const { ending, events } = conclude(host.deps, offer, attempt, done)
    effect = effectOf(ending)
    const chunks = done.chunks.kept
    const result = await host.journal.finish(attempt, started, ending, { events, chunks, changes })
    if (ending.outcome === 'indeterminate') {
      host.doubts.add({ call: interruptedOf({ ...attempt, reserved }, started), asked: 0 }, host.deps.clock.now())
      host.ask()
    }
    return { result, ...(chunks.length > 0 && { chunks }) }
  } catch (error) {
    // Others took this process for gone, and have said that nobody knows: now somebody does.
    const isTaken = error instanceof Failure && error.code === 'claim.not_found'
    if (isTaken && effect !== 'unknown')
      await appendEffect(host.deps, interruptedOf(attempt, started), effect).catch(() => undefined)
    return { result: unwritten(host, attempt, started, effect) }
  }
}

/** What a handler that has ended is known to have done. */
const effectOf = ({ outcome, error }: Ending): Effect =>
  outcome === 'failure' || outcome === 'indeterminate' ? (error?.effect ?? 'unknown') : 'done'

/**
 * The call is over, and nobody can be told so by the record: the store is away, or others took this process for gone. What
 * the record says of it, or will say, is not known here; only what became of the world, as far as that is.
 */
function unwritten({ deps, endings }: Host, attempt: Attempt, started: Started, effect: Effect): InvocationResult {
  const now = deps.clock.now()
  endings.add(recordKey(attempt.call), effect, now)
  const { at: startedAt, evidenceIds } = started
  const ending = { outcome: 'indeterminate', error: endedAs(effect) } as const
  return resultOf(attempt, ending, { evidenceIds, startedAt, completedAt: formatTime(now) })
}

import { Failure } from '../base/failure.ts'
import type { Refusal } from '../policy/gates/refusal.ts'
import { approvalRecords, type StoredApproval } from '../storage/tables/approvals.ts'
import { withdraw } from './approvals/ask.ts'
import { type Desk, expire } from './approvals/desk.ts'
import { isOpen, isOver, privateOf } from './approvals/request.ts'
import { Attempt, type Resolved } from './attempt.ts'
import { type Call, fingerprintOf, recordKey } from './call.ts'
import { FactsChanged } from './events.ts'
import { noteRefusal, passGates, scopeGate } from './gates/gates.ts'
import { rememberAgain } from './gates/history.ts'
import { type Entry, type Started, writeIntent, writeRefusal } from './journal.ts'
import { LimitExceeded, refuseLimit } from './limits/limits.ts'
import { type Found, lookUp, unknownCall } from './look-up.ts'
import { defer, perform } from './perform.ts'
import { isUnknown } from './recovery/reconcile.ts'
import { notStarted, type UnrecordedOutcomes } from './recovery/unrecorded.ts'
import { type Recorded, replayed } from './results.ts'
import type { Driving } from './run.ts'

export interface Host extends Desk {
  /** Calls that this process runs right now, by record key. */
  readonly running: Map<string, Promise<Recorded>>
  /** Calls whose intent this process is writing right now, by record key. */
  readonly starting: Set<{ readonly key: string }>
  readonly unrecorded: UnrecordedOutcomes
  /** Calls that ended here before their handlers did, by record key: what these do is not known yet. */
  readonly late: Set<string>
  /** Asks what calls of unknown outcome did, if it is time to ask. It works in the background. */
  ask(): void
  /** Aborts when the host closes. */
  readonly closing: AbortSignal
}

/** Takes one call from its envelope to its result, whatever that is. */
export async function invoke(host: Host, call: Call, driving: Driving = {}): Promise<Recorded> {
  const scope = scopeGate(call)
  if (scope !== undefined) {
    const attempt = new Attempt(host.deps, call, { driving })
    return { result: await writeRefusal(attempt, undefined, noteRefusal(attempt, scope)) }
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

const overtakenCodes: readonly string[] = ['claim.taken', 'claim.not_found', 'approval.used']

const isOvertaken = (error: unknown): boolean =>
  error instanceof FactsChanged || (error instanceof Failure && overtakenCodes.includes(error.code))

async function run(host: Host, call: Call, entry: Entry & Found, driving: Driving): Promise<Recorded> {
  const attempt =
    entry.standing === 'new' ? new Attempt(host.deps, call, { driving }) : await resumed(host, call, driving)
  const stop = await passGates(attempt)
  if (stop !== undefined) return { result: await refused(attempt, entry, stop) }
  try {
    const started = await begin(host, attempt, entry)
    const isDeferred = call.mode === 'async' || call.mode === 'fire_and_forget'
    return await (isDeferred ? defer : perform)(host, attempt as Resolved, started)
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error
    // The race for the last use was lost: of what the gates behind that one did, nothing is left.
    attempt.events.length = 0
    attempt.changes.length = 0
    attempt.approval = null
    return { result: await refused(attempt, entry, noteRefusal(attempt, refuseLimit(attempt, error))) }
  }
}

/** Writes the intent. If it is unknown whether it was written, the call does not run; if it was, it is ended. */
async function begin({ running, starting, unrecorded }: Host, attempt: Attempt, entry: Entry): Promise<Started> {
  const start = { key: recordKey(attempt.call) }
  starting.add(start)
  try {
    const started = await writeIntent(attempt, entry)
    // The id is taken anew: what became of it before counts no longer.
    unrecorded.delete(start.key)
    return started
  } catch (error) {
    // One that did begin has taken the id: this start is not on record then.
    if (isUnknown(error) && !running.has(start.key))
      unrecorded.add(start.key, unrecorded.get(start.key) ?? notStarted, attempt.deps.clock.now())
    throw error
  } finally {
    starting.delete(start)
  }
}

/** A call that waited for people, with what they were asked, and with the payload that one of them has edited. */
async function resumed(host: Host, again: Call, driving: Driving): Promise<Attempt> {
  const { deps } = host
  const requests = await deps.store.read(() => approvalRecords.findByCall(deps.tenant, recordKey(again)))
  const open = requests.find(({ request }) => isOpen(request))
  if (open !== undefined && isOver(deps, open.request)) {
    await expire(host, open)
    throw new Failure('claim.taken', 'the time to approve the call is over')
  }
  const call = inTaskOf(requests[0], again)
  const { edited, call: kept } = open === undefined ? {} : privateOf(open)
  if (!edited || kept === undefined) return new Attempt(deps, call, { driving, requests })
  return new Attempt(deps, { ...call, payload: kept.payload }, { driving, requests, edited })
}

/** The call in the task that people were asked in, whatever the repeat says: one call is one story. */
function inTaskOf(asked: StoredApproval | undefined, call: Call): Call {
  if (asked === undefined) return call
  const { correlation_id } = asked.request.correlation
  return { ...call, correlation: { ...call.correlation, correlation_id }, opens: false }
}

async function refused(attempt: Attempt, { recorded, ...entry }: Entry & Found, { outcome, denial }: Refusal) {
  const asks = denial.code === 'approval_required'
  // The same call asking again while people think about it: nothing new to write.
  if (recorded !== undefined && asks && attempt.changes.length === 0) return { ...replayed(recorded.result), denial }
  if (attempt.minted === undefined)
    for (const { request } of attempt.requests) if (isOpen(request)) attempt.changes.push(withdraw(request.approval_id))
  return writeRefusal(attempt, entry, { outcome, denial })
}

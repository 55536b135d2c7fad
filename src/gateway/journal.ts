import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import type { AttemptRecord } from '../model/evidence.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { rememberedOf } from '../policy/history.ts'
import type { Reservation } from '../storage/tables/budget-uses.ts'
import { addClaim, holdClaim, resumeClaim, settleClaim, settleWaiting, takeClaim } from '../storage/tables/claims.ts'
import { type Change, inOrder } from '../storage/work.ts'
import type { Attempt, EventSpec, Resolved } from './attempt.ts'
import { type Call, recordKey } from './call.ts'
import { draftsOf, hideInBaggage, recordOf, writeEvents } from './events.ts'
import { type Ending, type Recorded, recordText, resultOf } from './results.ts'
import { noAdditions } from './run.ts'

export const callScope = 'call'

/** Which call, and how it is on record when it comes again: not at all, or waiting for the people it needs. */
export interface Entry {
  readonly fingerprint: string
  readonly standing: 'new' | 'waiting'
}

export interface Started {
  readonly at: string
  readonly evidenceIds: readonly string[]
  readonly record: AttemptRecord
}

export interface Outcome {
  readonly ending: Ending
  readonly events: readonly EventSpec[]
  readonly changes?: readonly Change[]
  /** What a stream gave that a repeat is given again. */
  readonly given?: Pick<Recorded, 'chunks' | 'isCut'>
  /** The approval was given back: the call waits to be made again, with this as its answer so far. */
  readonly waits?: boolean
}

/** Writes the intent: from now on the effect may have happened. Fails with `claim.taken`, or `LimitExceeded`. */
export async function writeIntent(attempt: Attempt, entry: Entry): Promise<Started> {
  const { started, drafts, changes } = intentOf(attempt, entry)
  await writeEvents(attempt.deps, drafts, changes, opened(attempt.call))
  return started
}

export async function writeOutcome(attempt: Resolved, started: Started, outcome: Outcome): Promise<InvocationResult> {
  const { result, drafts, changes } = outcomeOf(attempt, started, outcome)
  await writeEvents(attempt.deps, drafts, changes)
  return result
}

/** Writes the outcome of one call, which is that another one begins, with the intent of that one. */
export async function handOver(
  from: { readonly attempt: Resolved; readonly started: Started; readonly outcome: Outcome },
  to: Attempt,
  entry: Entry,
): Promise<{ readonly result: InvocationResult; readonly begun: Started }> {
  const intent = intentOf(to, entry)
  const { result, drafts, changes } = outcomeOf(from.attempt, from.started, from.outcome)
  await writeEvents(to.deps, [...intent.drafts, ...drafts], [...intent.changes, ...changes])
  return { result, begun: intent.started }
}

/** Without an entry a repeat is a call of its own. Fails with `claim.*` if the call was settled elsewhere meanwhile. */
export async function writeRefusal(attempt: Attempt, entry: Entry | undefined, { outcome, denial }: Ending) {
  hideInBaggage(attempt)
  const { deps, call, driving } = attempt
  const now = deps.clock.now()
  const completedAt = formatTime(now)
  const type = outcome === 'skipped' ? 'execution_skipped' : 'execution_denied'
  const message = attempt.recordedMessage ?? denial?.message ?? ''
  const last: EventSpec = { type, outcome, ...(denial && { denial: { ...denial, message } }) }
  const drafts = draftsOf(attempt, [...attempt.events, last], { timestamp: completedAt, record: recordOf(attempt) })
  const evidenceIds = drafts.map(({ event_id }) => event_id)
  const result = resultOf(attempt, { outcome, denial }, { evidenceIds, startedAt: null, completedAt })
  const keep = entry === undefined ? [] : [keepRefusal(attempt, entry, recordText({ result }), now)]
  const added = driving.onOutcome?.(result) ?? noAdditions
  const changes = [...keep, ...attempt.changes, ...added.changes]
  await writeEvents(deps, [...drafts, ...added.events], changes, opened(call))
  return result
}

/** The correlation that the first write of a call opens, if its id was made for it. */
const opened = ({ opens, correlation }: Call): string | undefined => (opens ? correlation.correlation_id : undefined)

function intentOf(attempt: Attempt, { fingerprint, standing }: Entry) {
  hideInBaggage(attempt)
  const now = attempt.deps.clock.now()
  const timestamp = formatTime(now)
  const record = recordOf(attempt)
  const drafts = draftsOf(attempt, [...attempt.events, { type: 'execution_started' }], { timestamp, record })
  const started = { at: timestamp, evidenceIds: drafts.map(({ event_id }) => event_id), record }
  const claim = { ...claimOf(attempt), fingerprint, body: JSON.stringify(interruptedOf(attempt, started)) }
  const take: Change = standing === 'new' ? takeClaim(claim, now) : resumeClaim(claim)
  const added = attempt.driving.onIntent?.() ?? noAdditions
  const changes = [take, ...attempt.starting, ...attempt.changes, ...added.changes]
  return { started, drafts: [...drafts, ...added.events], changes }
}

const withScopes = (record: AttemptRecord, scopes: readonly string[]): AttemptRecord =>
  record.run === undefined || scopes.length === 0 ? record : { ...record, run: { ...record.run, scopes: [...scopes] } }

function outcomeOf(attempt: Resolved, started: Started, { ending, events, changes = [], given, waits }: Outcome) {
  const now = attempt.deps.clock.now()
  const completedAt = formatTime(now)
  const { data } = ending
  const record = withScopes(started.record, attempt.scopes)
  const drafts = draftsOf(attempt, events, { timestamp: completedAt, record, ...(data !== undefined && { data }) })
  const evidenceIds = [...started.evidenceIds, ...drafts.map(({ event_id }) => event_id)]
  const result = resultOf(attempt, ending, { evidenceIds, startedAt: started.at, completedAt })
  const text = recordText({ result, ...given, carries: rememberedOf(attempt.capability.descriptor) })
  const claim = { ...claimOf(attempt), body: belongingTo(result) }
  const known = waits ? holdClaim(claim, text) : settleClaim(claim, text, keptUntil(attempt, now))
  const settled =
    ending.outcome === 'indeterminate'
      ? settleClaim({ ...claim, body: JSON.stringify(interruptedOf(attempt, started)) }, text, now, 'unknown')
      : known
  const added = attempt.driving.onOutcome?.(result) ?? noAdditions
  return { result, drafts: [...drafts, ...added.events], changes: [settled, ...changes, ...added.changes] }
}

/** A result whose repeats must not run again is kept longer than others. */
const keptUntil = ({ capability }: Attempt, now: number): number =>
  now + (capability?.descriptor.idempotency === 'required' ? limits.requiredResultMs : limits.recordedResultMs)

/** A refusal that people may lift waits for them; any other stands. */
function keepRefusal(attempt: Attempt, { fingerprint, standing }: Entry, result: string, now: number): Change {
  const claim = { ...claimOf(attempt), fingerprint, body: belongingTo(attempt.call) }
  const expiresAtMs = keptUntil(attempt, now)
  if (attempt.minted === undefined)
    return standing === 'new'
      ? addClaim({ ...claim, state: 'settled', result, expiresAtMs }, now)
      : settleWaiting(claim, result, expiresAtMs)
  if (standing === 'new') return addClaim({ ...claim, state: 'waiting', result, expiresAtMs: null }, now)
  // Still waiting, with another answer. One commit: no other call comes in between.
  return inOrder(resumeClaim(claim), holdClaim(claim, result))
}

const claimOf = ({ deps, call }: Attempt) => ({ scope: callScope, key: recordKey(call), owner: deps.owner })

/** What is on record of a call whose process ended between its start and its end. */
export interface Interrupted
  extends Pick<InvocationResult, 'invocation_id' | 'capability_id' | 'correlation' | 'evidence_ids'> {
  readonly version: string | null
  readonly subject: Attempt['subject']
  readonly actor: Call['actor']
  readonly started_at: string
  /** What was reserved of budgets and is not settled. */
  readonly reserved?: readonly Reservation[]
  /** All it can have changed is what its outcome was to commit: without one, nothing. */
  readonly commits?: true
  /** How often its capability was asked what it did. */
  readonly asked?: number
}

/** All that is kept of the body of a call once it has a result: a purge finds the calls of a correlation by it. */
export const belongingTo = ({ correlation }: Pick<Interrupted, 'correlation'>): string =>
  JSON.stringify({ correlation: { correlation_id: correlation.correlation_id } })

/** What is given back of a call that did nothing: its cost is known only if the handler has said so. */
export const refundable = ({ reserved, taken }: Attempt): readonly Reservation[] =>
  taken.cost === undefined ? reserved : []

/** Enough of a call to say, should this process end now, what it was about. */
export const interruptedOf = (attempt: Attempt, started: Started): Interrupted => ({
  invocation_id: attempt.call.invocationId,
  capability_id: attempt.call.capabilityId,
  version: attempt.version,
  correlation: attempt.call.correlation,
  subject: attempt.subject,
  actor: attempt.call.actor,
  evidence_ids: [...started.evidenceIds],
  started_at: started.at,
  ...(refundable(attempt).length > 0 && { reserved: refundable(attempt) }),
  ...(attempt.capability?.commits && { commits: true }),
})

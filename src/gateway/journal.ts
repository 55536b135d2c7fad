import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import type { AttemptRecord, EventDraft } from '../model/evidence.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { rememberedOf } from '../policy/history.ts'
import type { Reservation } from '../storage/tables/budget-uses.ts'
import { addClaim, holdClaim, resumeClaim, settleClaim, settleWaiting, takeClaim } from '../storage/tables/claims.ts'
import { type Change, inOrder } from '../storage/work.ts'
import { recordKey } from './approvals/request.ts'
import type { Asked, Attempt, EventSpec, ToWrite } from './attempt.ts'
import { fingerprintOf } from './call.ts'
import type { GatewayDeps } from './deps.ts'
import { draftsOf, hideInBaggage, recordOf } from './events.ts'
import { type Ending, recordText, resultOf } from './results.ts'
import { noAdditions } from './run.ts'
import { writeEvents } from './write.ts'

/** The scope of claims that are calls. */
export const callScope = 'call'

/** How a call is on record when it comes again: not at all, or waiting for the people it needs. */
export type Standing = 'new' | 'waiting'

/** Which call, and how it stands. */
export interface Entry {
  readonly fingerprint: string
  readonly standing: Standing
}

export interface Journal {
  /** Writes the intent: from now on the effect may have happened. Fails with `claim.taken`, or `LimitExceeded`. */
  start(attempt: Attempt, entry: Entry): Promise<Started>
  /** Writes the outcome and what a repeat will be answered. */
  finish(attempt: Attempt, started: Started, ending: Ending, more: Finishing): Promise<InvocationResult>
  /** Writes the outcome of one call, which is that another one begins, with the intent of that one. */
  handOver(from: Finished, to: Attempt): Promise<{ readonly result: InvocationResult; readonly begun: Started }>
  /**
   * Writes a refusal, and what a repeat will be answered; without an entry a repeat is a call of its own.
   * `claim.taken` if somebody else was first.
   */
  refuse(attempt: Attempt, entry: Entry | undefined, ending: Ending): Promise<InvocationResult>
}

export interface Started {
  readonly at: string
  readonly evidenceIds: readonly string[]
  readonly record: AttemptRecord
}

export interface Finished {
  readonly attempt: Attempt
  readonly started: Started
  readonly ending: Ending
  readonly more: Finishing
}

export interface Finishing {
  readonly events: readonly EventSpec[]
  readonly chunks: readonly Json[]
  readonly isCut?: true
  /** Changes that are made with the outcome. */
  readonly changes?: readonly Change[]
  /** The approval was given back: the call waits to be made again, with this as its answer so far. */
  readonly waits?: boolean
}

export function openJournal(deps: GatewayDeps): Journal {
  const { ids, clock } = deps
  /** The first that is written of a call. */
  const open = ({ call }: Attempt, changes: readonly Change[], events: readonly EventDraft[]): Promise<void> =>
    writeEvents(deps, events, changes, call.opens ? call.correlation.correlation_id : undefined)

  const intentOf = (attempt: Attempt, { fingerprint, standing }: Entry) => {
    hideInBaggage(attempt)
    const now = clock.now()
    const timestamp = formatTime(now)
    const record = recordOf(attempt, deps.digest)
    const drafts = draftsOf(attempt, [...attempt.events, { type: 'execution_started' }], { ids, timestamp, record })
    const started = { at: timestamp, evidenceIds: drafts.map(({ event_id }) => event_id), record }
    const claim = { ...claimOf(deps, attempt), fingerprint, body: JSON.stringify(interruptedOf(attempt, started)) }
    const take: Change = standing === 'new' ? takeClaim(claim, now) : resumeClaim(claim)
    const added = attempt.driving.onIntent?.() ?? noAdditions
    const changes = [take, ...attempt.starting, ...attempt.changes, ...added.changes]
    return { started, drafts: [...drafts, ...added.events], changes }
  }
  const outcomeOf = ({ attempt, started, ending, more }: Finished) => {
    const now = clock.now()
    const completedAt = formatTime(now)
    const { record } = started
    const { data } = ending
    const { events, chunks, isCut, changes = [], waits } = more
    const drafts = draftsOf(attempt, events, {
      ids,
      timestamp: completedAt,
      record,
      ...(data !== undefined && { data }),
    })
    const evidenceIds = [...started.evidenceIds, ...drafts.map(({ event_id }) => event_id)]
    const result = resultOf(attempt, ending, { evidenceIds, startedAt: started.at, completedAt })
    const carries = attempt.capability && rememberedOf(attempt.capability.descriptor)
    const text = recordText({ result, chunks, ...(carries && { carries }), ...(isCut && { isCut }) })
    const claim = claimOf(deps, attempt)
    const ours = { ...claim, body: belongingTo(result) }
    const known = waits ? holdClaim(ours, text) : settleClaim(ours, text, keptUntil(attempt, now))
    const settled =
      ending.outcome === 'indeterminate'
        ? settleClaim({ ...claim, body: JSON.stringify(interruptedOf(attempt, started)) }, text, now, 'unknown')
        : known
    const added = attempt.driving.onOutcome?.(result) ?? noAdditions
    return { result, drafts: [...drafts, ...added.events], changes: [settled, ...changes, ...added.changes] }
  }

  return {
    start: async (attempt, entry) => {
      const { started, drafts, changes } = intentOf(attempt, entry)
      await open(attempt, changes, drafts)
      return started
    },
    finish: async (attempt, started, ending, more) => {
      const { result, drafts, changes } = outcomeOf({ attempt, started, ending, more })
      await writeEvents(deps, drafts, changes)
      return result
    },
    handOver: async (from, to) => {
      const intent = intentOf(to, { fingerprint: fingerprintOf(to.call), standing: 'new' })
      const { result, drafts, changes } = outcomeOf(from)
      await writeEvents(deps, [...intent.drafts, ...drafts], [...intent.changes, ...changes])
      return { result, begun: intent.started }
    },
    refuse: async (attempt, entry, ending) => {
      hideInBaggage(attempt)
      const now = clock.now()
      const completedAt = formatTime(now)
      const type = ending.outcome === 'skipped' ? 'execution_skipped' : 'execution_denied'
      const { outcome, denial } = ending
      const message = attempt.recordedMessage ?? denial?.message ?? ''
      const last: EventSpec = { type, outcome, ...(denial && { denial: { ...denial, message } }) }
      const record = recordOf(attempt, deps.digest)
      const drafts = draftsOf(attempt, [...attempt.events, last], { ids, timestamp: completedAt, record })
      const evidenceIds = drafts.map(({ event_id }) => event_id)
      const result = resultOf(attempt, ending, { evidenceIds, startedAt: null, completedAt })
      const keep =
        entry === undefined ? [] : [kept(attempt, claimOf(deps, attempt), entry, recordText({ result }), now)]
      const added = attempt.driving.onOutcome?.(result) ?? noAdditions
      await open(attempt, [...keep, ...attempt.changes, ...added.changes], [...drafts, ...added.events])
      return result
    },
  }
}

/** A result that somebody relies on outlives the window in which others are kept. */
const keptUntil = ({ capability }: Attempt, now: number): number =>
  now + (capability?.descriptor.idempotency === 'required' ? limits.requiredResultMs : limits.recordedResultMs)

/** A refusal that people may lift waits for them; any other stands. */
function kept(
  attempt: Attempt,
  claim: OwnClaim,
  { fingerprint, standing }: Entry,
  result: string,
  now: number,
): Change {
  const waits = attempt.minted !== undefined
  const expiresAtMs = keptUntil(attempt, now)
  const body = belongingTo(attempt.call)
  if (standing === 'new') {
    const added = { ...claim, fingerprint, body, result }
    return addClaim(
      waits ? { ...added, state: 'waiting', expiresAtMs: null } : { ...added, state: 'settled', expiresAtMs },
      now,
    )
  }
  if (!waits) return overtakable(settleWaiting(claim, result, expiresAtMs))
  // Waiting still, with another answer: nobody can come in between.
  return inOrder(resumeClaim({ ...claim, fingerprint, body }), holdClaim({ ...claim, body }, result))
}

/** Somebody else has settled the call meanwhile: what they wrote is its answer. */
const overtakable = (change: Change): Change =>
  function* (tenant) {
    try {
      yield* change(tenant)
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'claim.not_found')) throw error
      throw new Failure('claim.taken', 'this has been settled already')
    }
  }

const claimOf = ({ owner }: GatewayDeps, { call }: Asked): OwnClaim => ({
  scope: callScope,
  key: recordKey(call),
  owner,
})

interface OwnClaim {
  readonly scope: string
  readonly key: string
  readonly owner: string
}

/** What is on record of a call whose process ended between its start and its end. */
export interface Interrupted
  extends Pick<InvocationResult, 'invocation_id' | 'capability_id' | 'correlation' | 'evidence_ids'> {
  readonly version: string | null
  readonly subject: Attempt['subject']
  readonly actor: Attempt['call']['actor']
  readonly started_at: string
  /** What was reserved of budgets and is not settled. */
  readonly reserved?: readonly Reservation[]
  /** All it can have changed is what its outcome was to commit: without one, nothing. */
  readonly commits?: true
  /** How often its capability was asked what it did. */
  readonly asked?: number
}

/** All that is kept of what was to be done once there is a result: whoever purges a correlation finds its calls by it. */
export const belongingTo = ({ correlation }: Pick<Interrupted, 'correlation'>): string =>
  JSON.stringify({ correlation: { correlation_id: correlation.correlation_id } })

/** What is given back of a call that did nothing: its cost is known only if the handler has said so. */
export const refundable = ({ reserved, taken }: Pick<ToWrite, 'reserved' | 'taken'>): readonly Reservation[] =>
  taken.cost === undefined ? reserved : []

/** Enough of a call to say, should this process end now, what it was about. */
export const interruptedOf = (
  { call, subject, version, capability, ...budget }: Asked & ToWrite,
  started: Started,
): Interrupted => ({
  invocation_id: call.invocationId,
  capability_id: call.capabilityId,
  version,
  correlation: call.correlation,
  subject,
  actor: call.actor,
  evidence_ids: [...started.evidenceIds],
  started_at: started.at,
  ...(refundable(budget).length > 0 && { reserved: refundable(budget) }),
  ...(capability?.commits && { commits: true }),
})

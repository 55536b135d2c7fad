import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import type { CallError } from '../model/denial.ts'
import type { EventDraft } from '../model/evidence.ts'
import { type Claim, runningClaims, settleClaim } from '../storage/claims.ts'
import { leaseOf } from '../storage/leases.ts'
import { allPages } from '../storage/page.ts'
import type { Reconciled } from './capability.ts'
import type { GatewayDeps } from './deps.ts'
import type { Doubt, Doubts } from './doubts.ts'
import { belongingTo, callScope, type Interrupted } from './journal.ts'
import { presenceName } from './presence.ts'
import { unanswered, unspent } from './reservations.ts'
import { recordText } from './results.ts'
import { within } from './within.ts'
import { writeEvents } from './write.ts'

/**
 * Ends the calls of processes that are gone: each is indeterminate, because nobody knows whether its effect happened.
 * A capability that can find out is asked, and its answer is added to the record, never put in its place. Answers the
 * ids of the calls.
 */
export async function reconcile(own: Own): Promise<readonly string[]> {
  const { deps, unwritten } = own
  const claims = await deps.store.read(() => allPages((options) => runningClaims(deps.tenant, callScope, options)))
  const ended: Interrupted[] = []
  for (const claim of claims) {
    const runs = claim.owner === deps.owner ? !unwritten.has(claim.key) : await isPresent(deps, claim.owner)
    if (runs) continue
    const call = JSON.parse(claim.body) as Interrupted
    if (await markIndeterminate(deps, claim, call)) ended.push(call)
    unwritten.delete(claim.key)
  }
  // First all are on record: a capability may take long to find out.
  await Promise.all(ended.map((call) => findOut(own, { call, asked: 0 })))
  return ended.map(({ invocation_id }) => invocation_id)
}

/** Asks again about calls of which nobody knew, as far as it is time to. */
export async function askAgain(own: Own): Promise<void> {
  await Promise.all(own.doubts.due(own.deps.clock.now()).map((doubt) => findOut(own, doubt)))
}

interface Own extends Asking {
  readonly deps: GatewayDeps
  /** Calls of this process that ended and whose end could not be written, by record key. */
  readonly unwritten: Set<string>
}

const isPresent = (deps: GatewayDeps, owner: string): Promise<boolean> =>
  deps.store.read(function* () {
    const lease = yield* leaseOf(deps.tenant, presenceName(owner))
    return lease !== undefined && lease.expiresAtMs > deps.clock.now()
  })

async function markIndeterminate(deps: GatewayDeps, claim: Claim, call: Interrupted): Promise<boolean> {
  const now = deps.clock.now()
  const error: CallError = {
    type: 'Interrupted',
    code: 'interrupted',
    message: 'the process ended before the call did',
    effect: 'unknown',
  }
  const draft = draftOf(deps, call, { event_type: 'execution_indeterminate', outcome: 'indeterminate', error })
  const result = recordText({
    invocation_id: call.invocation_id,
    capability_id: call.capability_id,
    capability_version: call.version,
    correlation: call.correlation,
    outcome: 'indeterminate',
    success: false,
    data: null,
    error,
    denial: null,
    evidence_ids: [...call.evidence_ids, draft.event_id],
    started_at: call.started_at,
    completed_at: formatTime(now),
  })
  const settled = settleClaim({ ...claim, body: belongingTo(call) }, result, now + limits.requiredResultMs)
  try {
    await writeEvents(deps, [draft], [settled, ...unanswered(call.reserved)])
    return true
  } catch (error) {
    // Another process was quicker, or its owner came back after all.
    if (error instanceof Failure && error.code === 'claim.not_found') return false
    throw error
  }
}

interface Asking {
  readonly deps: GatewayDeps
  readonly doubts: Doubts
}

/**
 * Asks a capability that can find out whether the effect of a call happened, and adds its answer to the record. One that
 * does not know yet is asked again later.
 */
export async function findOut({ deps, doubts }: Asking, { call, asked }: Doubt): Promise<void> {
  const capability = deps.offer().registry.get(call.capability_id, call.version ?? '')
  if (capability?.reconcile === undefined) return
  let found: Reconciled = { effect: 'unknown' }
  try {
    const { invocation_id: invocationId, correlation, subject } = call
    const asking = capability.reconcile({ invocationId, correlation, subject })
    found = await within(asking, limits.reconcileMs, () => found, { aside: true })
  } catch {
    // It does not know either.
  }
  try {
    if (found.effect !== 'unknown') return await appendEffect(deps, call, found.effect)
  } catch (error) {
    // What may be on record already is not put there twice.
    if (!(error instanceof Failure && error.data['outcome'] === 'none')) throw error
  }
  doubts.add({ call, asked: asked + 1 }, deps.clock.now())
}

/** Adds to the record of a call what came of it after all, under an id of its own and with the call as its cause. */
export async function appendEffect(deps: GatewayDeps, call: Interrupted, effect: 'done' | 'none'): Promise<void> {
  const correlation = { ...call.correlation, causation_id: call.invocation_id }
  const error = {
    type: 'Interrupted',
    code: 'not_executed',
    message: 'the effect did not happen',
    effect: 'none',
  } as const
  const draft = draftOf(
    deps,
    { ...call, invocation_id: deps.ids.next('inv'), correlation },
    {
      event_type: effect === 'done' ? 'execution_completed' : 'execution_failed',
      outcome: effect === 'done' ? 'success' : 'failure',
      payload: { reconciles: call.invocation_id, effect },
      error: effect === 'done' ? null : error,
    },
  )
  await writeEvents(deps, [draft], effect === 'none' ? unspent(call.reserved) : [])
}

const draftOf = (
  { ids, clock }: GatewayDeps,
  call: Interrupted,
  more: Pick<EventDraft, 'event_type' | 'outcome'> & Partial<EventDraft>,
): EventDraft => ({
  event_id: ids.next('evt'),
  invocation_id: call.invocation_id,
  capability_id: call.capability_id,
  capability_version: call.version,
  timestamp: formatTime(clock.now()),
  correlation: call.correlation,
  payload: {},
  subject: call.subject,
  actor: call.actor,
  denial: null,
  error: null,
  redacted: true,
  ...more,
})

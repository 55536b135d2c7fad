import { Failure } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import type { CallError } from '../model/denial.ts'
import type { EventDraft } from '../model/evidence.ts'
import { type Claim, runningClaims, settleClaim } from '../storage/claims.ts'
import { hasEvent } from '../storage/events.ts'
import { leaseOf } from '../storage/leases.ts'
import { allPages } from '../storage/page.ts'
import { type Change, inOrder } from '../storage/work.ts'
import type { Reconciled } from './capability.ts'
import type { GatewayDeps } from './deps.ts'
import type { Doubt } from './doubts.ts'
import type { Host } from './invoke.ts'
import { belongingTo, callScope, type Interrupted } from './journal.ts'
import { presenceName } from './presence.ts'
import { unanswered, unspent, unused } from './reservations.ts'
import { recordText, resultOf } from './results.ts'
import type { Over } from './unwritten.ts'
import { within } from './within.ts'
import { writeEvents } from './write.ts'

type Reconciling = Pick<Host, 'deps' | 'running' | 'starting' | 'unwritten' | 'doubts'>

/**
 * Ends the calls of processes that are gone: each is indeterminate, because nobody knows whether its effect happened. And
 * those of this process whose end could not be written: they end as it knows. Answers the ids of the calls. One that
 * cannot be ended does not keep the others from it.
 */
export async function reconcile(host: Reconciling): Promise<readonly string[]> {
  const { deps, unwritten } = host
  const claims = await deps.store.read(() => allPages((options) => runningClaims(deps.tenant, callScope, options)))
  const ended: string[] = []
  const failures: unknown[] = []
  for (const claim of claims) {
    try {
      const known = claim.owner === deps.owner ? knownEnd(host, claim.key) : undefined
      if (known === undefined && (claim.owner === deps.owner || (await isPresent(deps, claim.owner)))) continue
      const call = JSON.parse(claim.body) as Interrupted
      if (await endCall(host, claim, call, known)) ended.push(call.invocation_id)
      unwritten.delete(claim.key)
    } catch (error) {
      failures.push(error)
    }
  }
  unwritten.prune(new Set(claims.map(({ key }) => key)), deps.clock.now())
  if (failures.length > 0) throw failures[0]
  return ended
}

/** How a call of this process ended, if it is neither running nor about to. */
function knownEnd({ running, starting, unwritten }: Reconciling, key: string): Over | undefined {
  for (const start of starting) if (start.key === key) return undefined
  return running.has(key) ? undefined : unwritten.get(key)
}

const asksMax = 64

/** Asks about calls of which nobody knows, as far as it is time to: so many, side by side. */
export async function askAgain(host: Reconciling): Promise<void> {
  await Promise.all(host.doubts.due(host.deps.clock.now(), asksMax).map((doubt) => findOut(host, doubt)))
}

const isPresent = (deps: GatewayDeps, owner: string): Promise<boolean> =>
  deps.store.read(function* () {
    const lease = yield* leaseOf(deps.tenant, presenceName(owner))
    return lease !== undefined && lease.expiresAtMs > deps.clock.now()
  })

/** Writes the end of a call; whether that was for us to do. */
async function endCall(
  { deps, doubts }: Reconciling,
  claim: Claim,
  call: Interrupted,
  known: Over | undefined,
): Promise<boolean> {
  const now = deps.clock.now()
  const error = endedAs(known)
  const [event_type, outcome] =
    known?.effect === 'none'
      ? (['execution_failed', 'failure'] as const)
      : (['execution_indeterminate', 'indeterminate'] as const)
  const draft = draftOf(deps, call, { event_type, outcome, error })
  const doubt = () =>
    error.effect === 'unknown' && doubts.add({ call: { ...call, ...givenBack(known) }, asked: 0 }, now)
  const { invocation_id: invocationId, capability_id: capabilityId, correlation, version } = call
  const result = resultOf(
    { call: { invocationId, capabilityId, correlation }, version },
    { outcome, error },
    {
      evidenceIds: [...call.evidence_ids, draft.event_id],
      startedAt: call.started_at,
      completedAt: formatTime(now),
    },
  )
  const settled = settleClaim(
    { ...claim, body: belongingTo(call) },
    recordText({ result }),
    now + limits.requiredResultMs,
  )
  try {
    await writeEvents(deps, [draft], [settled, ...settlementOf(known, call)])
  } catch (error) {
    // Another process was quicker, or its owner came back after all.
    if (error instanceof Failure && error.code === 'claim.not_found') return false
    // Should it be on record, nobody comes back to it.
    if (isUnknown(error)) doubt()
    throw error
  }
  doubt()
  return true
}

const givenBack = (known: Over | undefined) => known?.reserved && { reserved: known.reserved }

function settlementOf(known: Over | undefined, { reserved }: Interrupted): readonly Change[] {
  if (known?.began === false) return unused(reserved)
  return known?.settlement ?? unanswered(reserved)
}

/** How a call is said to have ended, by what this process knows of it; nothing of one of another process. */
export function endedAs(known: Over | undefined): CallError {
  if (known === undefined)
    return {
      type: 'Interrupted',
      code: 'interrupted',
      message: 'the process ended before the call did',
      effect: 'unknown',
    }
  const message = known.began
    ? 'the handler ended, and its outcome could not be recorded'
    : 'the call was not carried out: its start could not be recorded'
  return { type: 'Unrecorded', code: 'outcome_not_recorded', message, effect: known.effect }
}

/**
 * Asks a capability that can find out whether the effect of a call happened, and adds its answer to the record, never in
 * its place. One that does not know yet, or is not offered just now, is asked again later.
 */
async function findOut({ deps, doubts }: Reconciling, { call, asked }: Doubt): Promise<void> {
  const capability = deps.offer().registry.get(call.capability_id, call.version ?? '')
  if (capability !== undefined && capability.reconcile === undefined) return
  let found: Reconciled = { effect: 'unknown' }
  try {
    const { invocation_id: invocationId, correlation, subject } = call
    const asking = capability?.reconcile?.({ invocationId, correlation, subject })
    found = await within(asking ?? found, limits.reconcileMs, () => found, { aside: true })
    if (found.effect !== 'unknown') return await appendEffect(deps, call, found.effect)
  } catch {
    // It does not know either, or what it knows could not be written.
  }
  doubts.add({ call, asked: asked + 1 }, deps.clock.now())
}

/**
 * Adds to the record of a call what came of it after all, under an id of its own and with the call as its cause. Whoever
 * says the same again, because he does not know whether it was written, adds nothing. Budgets go by whoever spoke first:
 * `taken` is what the call has really taken, where that is known.
 */
export async function appendEffect(
  deps: GatewayDeps,
  call: Interrupted,
  effect: 'done' | 'none',
  taken: readonly Change[] = [],
): Promise<void> {
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
      event_id: effectEventOf(call, effect),
      event_type: effect === 'done' ? 'execution_completed' : 'execution_failed',
      outcome: effect === 'done' ? 'success' : 'failure',
      payload: { reconciles: call.invocation_id, effect },
      error: effect === 'done' ? null : error,
    },
  )
  const changes = [...(effect === 'none' ? unspent(call.reserved) : []), ...taken]
  const other = effectEventOf(call, effect === 'done' ? 'none' : 'done')
  const settled = changes.length === 0 ? [] : [unlessOnRecord(other, inOrder(...changes))]
  try {
    await writeEvents(deps, [draft], settled)
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'event.conflict')) throw error
    // Who found out that it was done did not know what it took.
    if (effect === 'done' && taken.length > 0) await writeEvents(deps, [], settled)
  }
}

const effectEventOf = ({ evidence_ids }: Interrupted, effect: 'done' | 'none'): string =>
  `evt_${sha256(`${effect} ${evidence_ids.at(-1)}`).slice(0, 26)}`

const unlessOnRecord = (eventId: string, change: Change): Change =>
  function* (tenant) {
    if (!(yield* hasEvent(tenant, eventId))) yield* change(tenant)
  }

/** Whether nobody knows if what failed was written. */
export const isUnknown = (error: unknown): boolean => error instanceof Failure && error.data['outcome'] === 'unknown'

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

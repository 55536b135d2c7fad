import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { isObject } from '../../base/object.ts'
import { formatTime } from '../../base/time.ts'
import type { CallError } from '../../model/wire/denial.ts'
import { rememberedOf } from '../../policy/history.ts'
import { allPages } from '../../storage/page.ts'
import type { Claim } from '../../storage/tables/claims.ts'
import { amendClaim, findClaim, runningClaims, settleClaim, unknownClaims } from '../../storage/tables/claims.ts'
import { hasEvent } from '../../storage/tables/events.ts'
import { type Change, inOrder } from '../../storage/work.ts'
import { idempotencyKeyOf } from '../call.ts'
import type { Reconciled } from '../capability.ts'
import type { GatewayDeps } from '../deps.ts'
import { draftEvent, writeEvents } from '../events.ts'
import { readResult } from '../execute.ts'
import type { Host } from '../invoke.ts'
import { belongingTo, callScope, type Interrupted } from '../journal.ts'
import { settleAll, unanswered, unspent, unused } from '../limits/budgets.ts'
import type { Registered } from '../registry.ts'
import { type Ending, readRecord, recordText, resultOf } from '../results.ts'
import { within } from '../within.ts'
import { isPresent } from './presence.ts'
import type { KnownOutcome } from './unrecorded.ts'

/**
 * Ends calls of processes that are gone as indeterminate, and those of this process whose end was not written as it
 * knows. Answers the ids of the calls. One that cannot be ended does not keep the others from it.
 */
export async function reconcile(host: Host): Promise<readonly string[]> {
  const { deps, unrecorded } = host
  const claims = await deps.store.read(() => allPages((options) => runningClaims(deps.tenant, callScope, options)))
  const ended: string[] = []
  const failures: unknown[] = []
  for (const claim of claims) {
    try {
      const known = claim.owner === deps.owner ? knownEnd(host, claim.key) : undefined
      if (known === undefined && (claim.owner === deps.owner || (await isPresent(deps, claim.owner)))) continue
      const call = JSON.parse(claim.body) as Interrupted
      if (await endCall(deps, claim, call, known)) ended.push(call.invocation_id)
      unrecorded.delete(claim.key)
    } catch (error) {
      failures.push(error)
    }
  }
  unrecorded.prune(new Set(claims.map(({ key }) => key)), deps.clock.now())
  if (failures.length > 0) throw failures[0]
  return ended
}

/** How a call of this process ended, if it is neither running nor about to. */
function knownEnd({ running, starting, unrecorded }: Host, key: string): KnownOutcome | undefined {
  for (const start of starting) if (start.key === key) return undefined
  return running.has(key) ? undefined : unrecorded.get(key)
}

const asksMax = 64

/** Asks about calls of unknown effect that are due: those whose handlers have ended, or whose processes are gone. */
export async function askAgain({ deps, late }: Host): Promise<void> {
  const max = asksMax + late.size
  const due = await deps.store.read(() => unknownClaims(deps.tenant, callScope, deps.clock.now(), max))
  await Promise.all(due.filter(({ key }) => !late.has(key)).map((claim) => findOut(deps, claim)))
}

/** Writes the end of a call; whether that was for us to do. */
async function endCall(deps: GatewayDeps, claim: Claim, call: Interrupted, known: KnownOutcome | undefined) {
  const now = deps.clock.now()
  const error = endedAs(known, call.commits)
  const outcome = error.effect === 'none' ? 'failure' : 'indeterminate'
  const event_type = error.effect === 'none' ? 'execution_failed' : 'execution_indeterminate'
  const draft = draftEvent(deps, { ...eventOf(call), event_type, outcome, error })
  const { invocation_id: invocationId, capability_id: capabilityId, correlation, version, started_at: startedAt } = call
  const at = { evidenceIds: [...call.evidence_ids, draft.event_id], startedAt, completedAt: formatTime(now) }
  const result = resultOf({ call: { invocationId, capabilityId, correlation }, version }, { outcome, error }, at)
  const text = recordText({ result })
  const settled =
    error.effect === 'unknown'
      ? settleClaim(
          { ...claim, body: JSON.stringify({ ...call, ...(known?.reserved && { reserved: known.reserved }) }) },
          text,
          now,
          'unknown',
        )
      : settleClaim({ ...claim, body: belongingTo(call) }, text, now + limits.requiredResultMs)
  try {
    await writeEvents(deps, [draft], [settled, ...settlementOf(known, call)])
  } catch (error) {
    // Another process was quicker, or its owner came back after all.
    if (error instanceof Failure && error.code === 'claim.not_found') return false
    throw error
  }
  return true
}

function settlementOf(known: KnownOutcome | undefined, { reserved, commits }: Interrupted): readonly Change[] {
  if (known?.began === false) return settleAll(reserved, unused)
  if (known === undefined && commits) return settleAll(reserved, { ...unanswered, ...unspent })
  return known?.settlement ?? settleAll(reserved, unanswered)
}

/** How a call is said to have ended, by what this process knows of it; nothing of one of another process. */
export function endedAs(known: KnownOutcome | undefined, commits = false): CallError {
  if (known === undefined)
    return {
      type: 'Interrupted',
      code: 'interrupted',
      message: 'the process ended before the call did',
      effect: commits ? 'none' : 'unknown',
    }
  const message = known.began
    ? 'the handler ended, and its outcome could not be recorded'
    : 'the call was not carried out: its start could not be recorded'
  return { type: 'Unrecorded', code: 'outcome_not_recorded', message, effect: known.effect }
}

const firstPauseMs = 10_000
const pauseFactor = 4

/** Asks a capability whether a call had its effect. If it does not know yet it is asked again, ever more rarely. */
async function findOut(deps: GatewayDeps, claim: Claim): Promise<void> {
  try {
    if (claim.owner !== deps.owner && (await isPresent(deps, claim.owner))) return
    const call = JSON.parse(claim.body) as Interrupted
    const capability = deps.offer().registry.get(call.capability_id, call.version ?? '')
    const { asked = 0, invocation_id: invocationId, correlation, subject } = call
    const isLast = asked + 1 >= limits.reconcileAsksMax || (capability !== undefined && !capability.reconcile)
    const body = JSON.stringify({ ...call, asked: asked + 1 })
    const later = { body, expiresAtMs: deps.clock.now() + firstPauseMs * pauseFactor ** asked }
    // Before it is asked: of several processes one does, and one that ends meanwhile is not the last.
    await deps.store.write(deps.tenant, amendClaim(claim, isLast ? settledSince(deps, call) : later))
    const unknown: Reconciled = { effect: 'unknown' }
    const idempotencyKey = idempotencyKeyOf(deps, claim.key)
    const asking = capability?.reconcile?.({ invocationId, idempotencyKey, correlation, subject }) ?? unknown
    const found = await within<Reconciled>(asking, limits.reconcileMs, () => unknown, { aside: true })
    const { effect } = isObject(found) && effects.has(found.effect) ? found : unknown
    if (effect !== 'unknown') await appendEffect(deps, claim.key, call, { effect, ...answerIn(found, capability) })
  } catch {
    // Another process asks, the answer is still unknown, or it could not be written.
  }
}

const effects: ReadonlySet<unknown> = new Set(['done', 'none', 'unknown'])

/** What a call answered as its capability says, if that fits its output schema. */
function answerIn(found: Reconciled, capability: Registered | undefined): Pick<Found, 'data'> {
  if (found.effect !== 'done' || found.data === undefined) return {}
  const data = readResult(found.data)
  return capability?.checkOutput(data).length === 0 ? { data } : {}
}

const settledSince = ({ clock }: GatewayDeps, call: Interrupted): Partial<Claim> => ({
  state: 'settled',
  body: belongingTo(call),
  expiresAtMs: clock.now() + limits.requiredResultMs,
})

interface Found {
  readonly effect: 'done' | 'none'
  /** What it answered; left out where only its effect is known. */
  readonly data?: Json
  /** What the call has really taken of budgets, where that is known. */
  readonly taken?: readonly Change[] | undefined
  /** Said by the process that carried it out, which knows better than a capability that was asked. */
  readonly isOwn?: boolean
}

/** Adds an event with an outcome found out later, and answers repeats with it. A second time adds nothing. */
export async function appendEffect(deps: GatewayDeps, key: string, call: Interrupted, found: Found): Promise<void> {
  const { effect, taken = [], isOwn } = found
  const { outcome, error = null } = endingOf(found)
  const draft = draftEvent(deps, {
    ...eventOf(call),
    invocation_id: deps.ids.next('inv'),
    correlation: { ...call.correlation, causation_id: call.invocation_id },
    event_id: effectEventOf(call, effect),
    event_type: effect === 'done' ? 'execution_completed' : 'execution_failed',
    outcome,
    payload: { reconciles: call.invocation_id, effect },
    error: effect === 'done' ? null : error,
  })
  const changes = [...(effect === 'none' ? settleAll(call.reserved, unspent) : []), ...taken]
  const other = effectEventOf(call, effect === 'done' ? 'none' : 'done')
  const settled = changes.length === 0 ? [] : [unlessOnRecord(other, inOrder(...changes))]
  const answer = answerWith(deps, key, call, found)
  try {
    await writeEvents(deps, [draft], [...settled, answer])
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'event.conflict')) throw error
    // Who was asked and said that it was done knew neither what it took nor what it answered.
    if (effect === 'done' && isOwn) await writeEvents(deps, [], [...settled, answer])
  }
}

function endingOf({ effect, data }: Found): Ending {
  const error = { type: 'Interrupted', effect }
  if (effect === 'none')
    return { outcome: 'failure', error: { ...error, code: 'not_executed', message: 'the effect did not happen' } }
  if (data !== undefined) return { outcome: 'success', data }
  const message = 'the effect happened; what the call answered is not known'
  return { outcome: 'success', error: { ...error, code: 'result_not_known', message } }
}

/** Answers repeats of a call with its outcome, in place of an unknown one or of what its capability said when asked. */
const answerWith = (deps: GatewayDeps, key: string, call: Interrupted, found: Found): Change =>
  function* (tenant) {
    const claim = yield* findClaim(tenant, callScope, key)
    const recorded = claim?.result == null ? undefined : readRecord(claim.result)
    // The id may stand for another call by now.
    if (!claim || !recorded?.result.evidence_ids.includes(call.evidence_ids.at(-1) ?? '')) return
    if (!found.isOwn && recorded.result.outcome !== 'indeterminate') return
    const { outcome, data = null, error = null } = endingOf(found)
    const evidence_ids = [...new Set([...recorded.result.evidence_ids, effectEventOf(call, found.effect)])]
    const completed_at = formatTime(deps.clock.now())
    const known = { outcome, success: outcome === 'success', data, error, evidence_ids, completed_at }
    const capability = deps.offer().registry.get(call.capability_id, call.version ?? '')
    const carries = capability && rememberedOf(capability.descriptor)
    const result = { ...recorded.result, ...known }
    const text = recordText({ ...recorded, ...(carries && { carries }), result })
    yield* amendClaim(claim, { ...settledSince(deps, call), result: text })(tenant)
  }

const effectEventOf = ({ evidence_ids }: Interrupted, effect: 'done' | 'none'): string =>
  `evt_${sha256(`${effect} ${evidence_ids.at(-1)}`).slice(0, 26)}`

const unlessOnRecord = (eventId: string, change: Change): Change =>
  function* (tenant) {
    if (!(yield* hasEvent(tenant, eventId))) yield* change(tenant)
  }

/** Whether it is unknown if the failed commit was written. */
export const isUnknown = (error: unknown): boolean => error instanceof Failure && error.data['outcome'] === 'unknown'

const eventOf = ({ version, invocation_id, capability_id, correlation, subject, actor }: Interrupted) => {
  return { invocation_id, capability_id, capability_version: version, correlation, subject, actor }
}

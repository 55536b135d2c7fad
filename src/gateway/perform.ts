import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import { outputDigest } from '../evidence/digests.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import { refuse } from '../policy/gates/refusal.ts'
import { rememberedOf } from '../policy/history.ts'
import type { Change } from '../storage/work.ts'
import { returnApproval } from './approvals/ask.ts'
import type { EventSpec, Resolved } from './attempt.ts'
import { type Call, fingerprintOf, recordKey } from './call.ts'
import { type Ended, type Execution, endedByChange, execute } from './execute.ts'
import type { Host } from './invoke.ts'
import { handOver, interruptedOf, type Outcome, refundable, type Started, writeOutcome } from './journal.ts'
import { settleAnswered, settleTaken } from './limits/budgets.ts'
import { appendEffect, endedAs, isUnknown } from './recovery/reconcile.ts'
import { type KnownOutcome, notStarted } from './recovery/unrecorded.ts'
import { type Ending, type Recorded, resultOf } from './results.ts'

/** Answers that the call was accepted; it is then carried out under an id of its own, with this one as its cause. */
export async function defer(host: Host, attempt: Resolved, started: Started): Promise<Recorded> {
  const { call } = attempt
  const correlation = { ...call.correlation, causation_id: call.invocationId }
  const later: Call = { ...call, invocationId: host.deps.ids.next('inv'), named: false, correlation, opens: false }
  const deferred: Resolved = {
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
  const accepted = { attempt, started, outcome: { ending: { outcome: 'success', data }, events } } as const
  try {
    const entry = { fingerprint: fingerprintOf(later), standing: 'new' } as const
    const { result, begun } = await handOver(accepted, deferred, entry)
    // Its end is on record under its own id; should this process end before it, it is found and called indeterminate.
    void perform(host, deferred, begun).catch(() => undefined)
    return { result }
  } catch (error) {
    // The caller got no promise, so the call does not run. Its start may be on record: the commit may have succeeded.
    host.unrecorded.add(recordKey(later), notStarted, host.deps.clock.now())
    return { result: await unrecordedEnd(host, attempt, started, { known: notStarted, error }) }
  }
}

/** Carries a call out whose intent is on record, and writes its outcome. */
export function perform(host: Host, attempt: Resolved, started: Started): Promise<Recorded> {
  const key = recordKey(attempt.call)
  const performing = carryOut(host, attempt, started).finally(() => host.running.delete(key))
  host.running.set(key, performing)
  host.unrecorded.delete(key)
  return performing
}

/** From here on the effect may have happened: whatever is thrown, the answer is a result. */
async function carryOut(host: Host, attempt: Resolved, started: Started): Promise<Recorded> {
  const { clock } = host.deps
  const { commits, descriptor } = attempt.capability
  let known: KnownOutcome = { effect: commits ? 'none' : 'unknown', began: true }
  const finish = async (execution: Execution, settlement: readonly Change[]): Promise<Recorded> => {
    const outcome = conclude(attempt, execution, settlement)
    const { ending, given } = outcome
    const answer = ending.outcome === 'success' && { data: ending.data ?? null }
    known = commits
      ? { effect: 'none', began: true, settlement }
      : { effect: effectOf(ending), began: true, settlement, reserved: refundable(attempt), ...answer }
    const result = await writeOutcome(attempt, started, outcome)
    if (ending.outcome === 'indeterminate') askAfter(host, recordKey(attempt.call), execution.late)
    return { result, ...given, carries: rememberedOf(descriptor) }
  }
  try {
    const begun = clock.now()
    const execution = await execute(attempt)
    const settlement = settleTaken(attempt, clock.now() - begun)
    return await finish(execution, settlement).catch((error: unknown) => {
      if (!(error instanceof ChangeRefused)) throw error
      const ended = endedByChange(error.failure, attempt)
      return finish({ ...execution, ended, change: undefined }, settlement)
    })
  } catch (error) {
    return { result: await unrecordedEnd(host, attempt, started, { known, error }) }
  }
}

function conclude(attempt: Resolved, execution: Execution, settlement: readonly Change[]): Outcome {
  const { emitted, chunks, change } = execution
  const returned = returnApproval(attempt, execution.ended)
  const { ending, last } = checkResult(attempt, returned?.ended ?? execution.ended, chunks)
  const own = change !== undefined && ending.outcome === 'success' ? [refusable(change)] : []
  const isCut = chunks.count > chunks.kept.length && ({ isCut: true } as const)
  return {
    ending,
    events: [...emitted, last],
    changes: [...settlement, ...own, ...(returned ? [returned.change] : [])],
    given: chunks.count === 0 ? {} : { chunks: chunks.kept, ...isCut },
    waits: returned !== undefined,
  }
}

/** Gate 12, and the event of the end. */
function checkResult(
  attempt: Resolved,
  ended: Ended,
  chunks: Execution['chunks'],
): { readonly ending: Ending; readonly last: EventSpec } {
  const { deps, offer, call, capability, version } = attempt
  const stream = chunks.digest && { chunk_count: chunks.count, chunk_seq_digest: chunks.digest.end() }
  if (ended.outcome !== 'success') {
    const { outcome, error } = ended
    const type = outcome === 'failure' ? 'execution_failed' : 'execution_indeterminate'
    return { ending: ended, last: { type, outcome, error, payload: { ...stream }, withheld: chunks.count > 0 } }
  }
  const { data } = ended
  const [problem] = capability.checkOutput(data)
  const output = outputDigest(deps.digest, data)
  const withheld = data !== null || chunks.count > 0
  if (problem === undefined || !(offer.strictOutput || call.requireOutput)) {
    const marked = problem && { output_schema_valid: false }
    const payload = { output, ...labelsOf(attempt), ...stream, ...marked }
    return { ending: ended, last: { type: 'execution_completed', outcome: 'success', payload, withheld } }
  }
  const effect = capability.commits ? 'none' : 'done'
  const what = effect === 'done' ? 'the call was executed' : 'nothing was changed'
  const message = `the result does not fit the output schema; ${what}`
  const { denial } = refuse('output', 'output_schema_validation_failed', message, {
    schema_id: `${call.capabilityId}:${version}#output`,
    // Names in a result may be as long as the result.
    path: problem.path.slice(0, limits.errorCharsMax).toWellFormed(),
    keyword: problem.keyword,
    effect,
  })
  const payload = { output, ...labelsOf(attempt), ...stream }
  return {
    ending: { outcome: 'denied', denial },
    last: { type: 'execution_denied', outcome: 'denied', denial, payload, withheld },
  }
}

/** What the result carries, where the capability says: its class, and where it comes from. */
function labelsOf({ capability: { descriptor } }: Resolved): { readonly [key: string]: string } {
  if ((descriptor.policy?.data_classification ?? descriptor.metadata?.origin) === undefined) return {}
  const { class: dataClass, origin } = rememberedOf(descriptor)
  return { ...(dataClass !== undefined && { data_classification: dataClass }), origin }
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

const effectOf = ({ outcome, error }: Ending): KnownOutcome['effect'] =>
  outcome === 'failure' || outcome === 'indeterminate' ? (error?.effect ?? 'unknown') : 'done'

/** The answer of a call whose outcome could not be recorded: only what became of the world is said, as far as known. */
async function unrecordedEnd(
  { deps, unrecorded }: Host,
  attempt: Resolved,
  started: Started,
  { known, error }: { readonly known: KnownOutcome; readonly error: unknown },
): Promise<InvocationResult> {
  const { effect, settlement } = known
  const { commits } = attempt.capability
  const key = recordKey(attempt.call)
  const now = deps.clock.now()
  if (!(error instanceof Failure && error.code === 'claim.not_found')) unrecorded.add(key, known, now)
  else if (effect !== 'unknown' && !commits) {
    // Another process settled the call as unknown: this one knows its outcome.
    const taken = settlement && [...settleAnswered(attempt.reserved), ...settlement]
    const found = { ...('data' in known && { data: known.data }), effect, taken, isOwn: true }
    await appendEffect(deps, key, interruptedOf(attempt, started), found).catch(() => undefined)
  }
  const { at: startedAt, evidenceIds } = started
  // Whether the change was committed with the outcome, only the record will tell.
  const told = commits && isUnknown(error) ? ({ ...known, effect: 'unknown' } as const) : known
  const ending = { outcome: 'indeterminate', error: endedAs(told) } as const
  return resultOf(attempt, ending, { evidenceIds, startedAt, completedAt: formatTime(now) })
}

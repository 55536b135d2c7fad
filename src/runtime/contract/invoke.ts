import { Failure } from '../../base/failure.ts'
import { longRunning } from '../../compile/envelope.ts'
import type { InvokeAnswer } from '../../model/requests.ts'
import { isEnded, type RunRecord } from '../../model/run.ts'
import { inScopes } from '../../model/text.ts'
import { lastVersion, recordIdOf } from '../../storage/tables/runs/decisions.ts'
import { eventsOfTree } from '../../storage/tables/runs/runs.ts'
import type { Caller } from '../identity/caller.ts'
import { govern } from '../loop/plans/governed.ts'
import type { OperationContext } from '../operations/context.ts'
import { runFor, watchRun } from '../runs/read.ts'
import { type EntryRequest, enter } from './entry.ts'
import { gatherFacts } from './gather.ts'

/** One call in, one record out: the request is let in, compiled, and its run started; in `batch` it is waited for. */
export async function invokeAgent(by: OperationContext, given: EntryRequest): Promise<InvokeAnswer> {
  if (!mayInvoke(by.caller)) throw new Failure('caller.not_permitted', `this key is not for \`${invokeScope}\``)
  const started = await startOrFind(by, given)
  const record = given.request.mode === 'batch' ? await settled(by, started) : started
  return answerFor(by, record)
}

const invokeScope = 'agent.invoke'

/** A key that is limited to capabilities names this one too, to put requests to agents. */
export const mayInvoke = ({ scopes }: Pick<Caller, 'scopes'>): boolean =>
  scopes.length === 0 || inScopes(scopes, invokeScope)

/** A repeat of a request is the run that it has started. */
class Repeated extends Error {
  readonly record: RunRecord
  constructor(record: RunRecord) {
    super('the request was made before')
    this.record = record
  }
}

async function startOrFind(by: OperationContext, given: EntryRequest): Promise<RunRecord> {
  const { runs } = await by.host()
  const { request, run_context } = given
  const asked = { request, run_context }
  const onMinted = async (): Promise<void> => {
    const known = await runs.invokedBefore(by.caller, asked)
    if (known !== undefined) throw new Repeated(known)
  }
  try {
    const entered = await enter(by, given, { onMinted })
    const governed = govern(entered.context, await gatherFacts(by, entered), entered.ready)
    const { served, place } = by
    return await runs.invoke(
      by.caller,
      { entered, governed, asked },
      { ...(served && { served }), ...(place && { place }) },
    )
  } catch (error) {
    if (error instanceof Repeated) return error.record
    throw error
  }
}

/** The run once it has ended, or waits for people. */
async function settled(by: OperationContext, started: RunRecord): Promise<RunRecord> {
  const { runs } = await by.host()
  const { run_id: id } = started
  if (isEnded(started.status)) return started
  const followed = await runs.follow(id)
  if (followed !== undefined) return followed
  for await (const { type, run_id } of watchRun(by, started, 0))
    if (run_id === id && (type === 'run.paused' || type === 'run.finished')) {
      const now = await runFor(by, id)
      if (now.status === 'paused' || isEnded(now.status)) return now
    }
  return runFor(by, id)
}

/** What a caller is answered: where the run is to be followed, and its record as it stands. */
async function answerFor({ ambit, caller }: OperationContext, record: RunRecord): Promise<InvokeAnswer> {
  const { run_id, trace_id, mode, status, session_id, waits_for } = record
  const events = await ambit.store.read(() => eventsOfTree(caller.tenant, run_id))
  const proposals = events.filter(({ type }) => type === 'memory.proposed')
  const decision = await ambit.store.read(() => lastVersion(caller.tenant, recordIdOf(run_id)))
  return {
    ...{ run_id, trace_id, mode: mode ?? 'batch', status, waits_for: [...waits_for] },
    ...{ decision_record: decision ?? null, events: `/v1/runs/${run_id}/events` },
    memory_proposals: proposals.map(({ data }) => data as unknown as InvokeAnswer['memory_proposals'][number]),
    ...(session_id !== null && { session_id }),
    ...(mode === 'long_running' && { heartbeat_ttl_ms: longRunning.heartbeat_ttl_ms }),
    ...(decision?.ambit.checkpoint_id && { checkpoint_id: decision.ambit.checkpoint_id }),
  }
}

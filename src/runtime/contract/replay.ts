import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import type { ReadyPacks } from '../../compile/compile.ts'
import type { CompileFacts } from '../../compile/facts.ts'
import type { ReplayReport } from '../../model/contract/replay.ts'
import { replayRun } from '../../runs/replay/replay.ts'
import type { StoredRun } from '../../runs/replay/stored.ts'
import { bodiesOf } from '../../storage/tables/events.ts'
import { recordIdOf, versionsOf } from '../../storage/tables/runs/decisions.ts'
import { factsAt } from '../../storage/tables/runs/facts.ts'
import { eventsOfTree, findRun } from '../../storage/tables/runs/runs.ts'
import type { Work } from '../../storage/work.ts'
import type { RunPrivate } from '../loop/tree.ts'
import type { OperationContext } from '../operations/context.ts'
import { loadPinned } from '../packs/registry.ts'
import { maySee } from '../runs/read.ts'
import { measure } from './measure.ts'

/** Decides a recorded run again from its record alone: no host is opened, no adapter and no model is made. */
export async function replayOne(context: OperationContext, { id }: { readonly id: string }): Promise<ReplayReport> {
  const runId = id.replace(/^dr_/, 'run_')
  const stored = await openStored(context)(runId)
  const { status, diffs } = replayRun(stored)
  return { run_id: runId, record_id: recordIdOf(runId), status, diffs: diffs.map((diff) => ({ ...diff })) }
}

/** Reads recorded runs. Packs that several have pinned are read and checked once. */
export function openStored({ ambit, caller }: OperationContext): (runId: string) => Promise<StoredRun> {
  const known = new Map<string, Promise<ReadyPacks>>()
  const packsOf = (pinned: Parameters<typeof loadPinned>[2]): Promise<ReadyPacks> => {
    const key = JSON.stringify(pinned)
    const found = known.get(key) ?? loadPinned(ambit, caller, pinned)
    known.set(key, found)
    return found
  }
  return async (runId) => {
    const found = await ambit.store.read(() => recorded(runId, caller.tenant))
    if (found === undefined || !maySee(caller, found.run.record))
      throw new Failure('record.not_found', `decision record ${quote(runId)} not found`, { id: runId })
    const { run, body, ...more } = found
    if (body === undefined)
      throw new Failure('replay.snapshot_collected', 'the facts of the run were erased', { run_id: runId })
    return {
      ...{ runId, ...more, measure, envelope: run.invoked, factsHash: sha256(body) },
      facts: JSON.parse(body) as CompileFacts,
      packs: await packsOf(run.record.compiled?.refs ?? []),
    }
  }
}

function* recorded(runId: string, tenant: Parameters<typeof findRun>[0]) {
  const found = yield* findRun<RunPrivate>(tenant, runId)
  const invoked = found?.private.invoked
  if (found === undefined || invoked === undefined) return undefined
  const events = (yield* eventsOfTree(tenant, found.record.root_run_id)).filter(({ run_id }) => run_id === runId)
  const compiled = events.find(({ type }) => type === 'compile.done')
  return {
    ...{ run: { record: found.record, invoked }, events },
    body: compiled && (yield* factsAt(tenant, found.record.root_run_id, compiled.event_id)),
    versions: yield* versionsOf(tenant, recordIdOf(runId)),
    sealed: yield* sealedRecords(tenant, found.record.root_run_id),
  }
}

/** The hashes of record versions that the evidence of a run has. */
function* sealedRecords(tenant: Parameters<typeof findRun>[0], rootId: string): Work<ReadonlySet<string>> {
  const bodies = yield* bodiesOf(tenant, rootId, 'ambit.record.written')
  const hashes = bodies.map((body) => (JSON.parse(body) as { payload: { record_hash: string } }).payload.record_hash)
  return new Set(hashes)
}

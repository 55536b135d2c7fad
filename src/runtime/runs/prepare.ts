import { limits } from '../../base/limits.ts'
import type { CallCaller } from '../../gateway/call.ts'
import { isEnded, type RunRecord } from '../../model/run.ts'
import { triesOf } from '../../storage/tables/legs.ts'
import { runsToCancel } from '../../storage/tables/runs.ts'
import { cancelled, RunEnd } from '../loop/endings.ts'
import { openNode } from '../loop/record.ts'
import { beginRun, placeOfRun } from '../loop/spans.ts'
import type { RunDeps, RunTree } from '../loop/tree.ts'

export interface PrepareOptions extends RunDeps {
  /** The caller of a run as its credential stands now; undefined for one that may do nothing any more. */
  readonly callerNow: (kept: CallCaller) => Promise<CallCaller | undefined>
}

/** Makes a run ready to be taken up: everything it was allowed at its start is asked again now. False for one that has ended. */
export async function prepareLeg(tree: RunTree, options: PrepareOptions): Promise<boolean> {
  const { deps } = options
  const record = tree.stored.get(tree.rootId)
  if (record === undefined || isEnded(record.status)) return false
  const open = [...tree.stored.values()].filter(({ status }) => !isEnded(status))
  for (const runId of await deps.store.read(() => runsToCancel(deps.tenant))) tree.toCancel.add(runId)
  await tree.authority.readAgain()
  const caller = await options.callerNow(tree.root.caller)
  if (caller !== undefined) tree.caller = caller
  const root = openNode(tree, record, undefined, beginRun(record, placeOfRun(record)))
  tree.nodes.set(tree.rootId, root)
  await noteResumed(tree, open)
  if (tree.toCancel.has(tree.rootId)) root.ending.abort(cancelled())
  if (triesOf(tree.journal.leg) > limits.legTriesMax)
    root.ending.abort(new RunEnd('run_exhausted', 'the run could not be taken up, however often it was tried'))
  if (caller === undefined)
    root.ending.abort(new RunEnd('principal_inactive', 'the caller of the run is not active any more'))
  return true
}

async function noteResumed(tree: RunTree, open: readonly RunRecord[]): Promise<void> {
  const paused = open.filter(({ status }) => status === 'paused')
  await tree.commit({
    noting: () => tree.note(tree.rootId, 'run.resumed', { was_paused: paused.length > 0 }),
    statements: (tenant) => paused.map((each) => tree.put({ ...each, status: 'running', waits_for: [] })(tenant)),
  })
}

import { limits } from '../../base/limits.ts'
import { isEnded } from '../../model/run.ts'
import { type Leg, triesOf } from '../../storage/tables/legs.ts'
import { eventsOfTree, runsOfRoot, runsToCancel } from '../../storage/tables/runs.ts'
import type { Work } from '../../storage/work.ts'
import { RunEnd } from '../loop/endings.ts'
import { openNode } from '../loop/record.ts'
import { beginRun, placeOfRun } from '../loop/spans.ts'
import { type RunHost, type RunNode, type RunPrivate, RunTree, type WholeTree } from '../loop/tree.ts'

/**
 * Makes a root run ready to go on where its events end: everything it was allowed at its start is asked again now.
 * Undefined for one that has ended.
 */
export async function takeUp(host: RunHost, leg: Leg): Promise<RunNode | undefined> {
  const { store, tenant } = host.deps
  const tree = new RunTree(host, leg, await store.read(() => wholeTree(host, leg.runId)))
  const record = tree.stored.get(tree.rootId)
  if (record === undefined || isEnded(record.status)) return undefined
  for (const runId of await store.read(() => runsToCancel(tenant))) tree.toCancel.add(runId)
  await tree.authority.readAgain()
  const caller = await host.callerNow(tree.root.caller)
  tree.caller = caller ?? tree.caller
  const root = openNode(tree, record, undefined, beginRun(record, placeOfRun(record)))
  await noteResumed(tree)
  if (triesOf(leg) > limits.legTriesMax)
    root.ending.abort(new RunEnd('run_exhausted', 'the run could not be taken up, however often it was tried'))
  if (caller === undefined)
    root.ending.abort(new RunEnd('principal_inactive', 'the caller of the run is not active any more'))
  return root
}

function* wholeTree({ deps: { tenant } }: RunHost, rootId: string): Work<WholeTree> {
  const runs = yield* runsOfRoot<RunPrivate>(tenant, rootId)
  return { runs, events: yield* eventsOfTree(tenant, rootId) }
}

async function noteResumed(tree: RunTree): Promise<void> {
  const paused = [...tree.stored.values()].filter(({ status }) => status === 'paused')
  await tree.commit({
    noting: () => tree.journal.note(tree.rootId, 'run.resumed', { was_paused: paused.length > 0 }),
    statements: (tenant) => paused.map((each) => tree.put(tenant, { ...each, status: 'running', waits_for: [] })),
  })
}

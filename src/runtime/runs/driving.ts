import { limits } from '../../base/limits.ts'
import type { RunEvent, RunRecord } from '../../model/run.ts'
import { type Leg, releaseLeg, triesOf } from '../../storage/tables/legs.ts'
import { runEventsOf, runsOfRoot, runsToCancel } from '../../storage/tables/runs.ts'
import type { Work } from '../../storage/work.ts'
import { driveTree } from '../loop/drive.ts'
import { cancelled } from '../loop/endings.ts'
import { type RunPrivate, RunTree, type WholeTree } from '../loop/tree.ts'
import { type PrepareOptions, prepareLeg } from './prepare.ts'

export interface DrivingOptions extends PrepareOptions {
  /** Keeps the host open while a run is driven. */
  readonly hold: () => () => void
}

/** The run trees that this process drives now. */
export function openDriving(options: DrivingOptions) {
  const { deps } = options
  const trees = new Map<string, RunTree>()
  /** Each until its next pause or its end: then it answers the record of its root, as far as that is in the store. */
  const underWay = new Map<string, Promise<RunRecord | undefined>>()
  const { watch, wake } = openWatchers()

  const drive = (tree: RunTree): Promise<RunRecord | undefined> => {
    const { rootId } = tree
    const release = options.hold()
    const work = driveTree(tree)
      .then(
        () => tree.rootNode().record,
        () => giveBack(options, tree),
      )
      .finally(() => {
        trees.delete(rootId)
        underWay.delete(rootId)
        release()
        wake(rootId)
      })
    trees.set(rootId, tree)
    underWay.set(rootId, work)
    return work
  }
  /** Takes a run up where its events end. What its last process was doing when it went is ended first. */
  const takeUp = async (leg: Leg, wasLeft: boolean): Promise<void> => {
    if (wasLeft) await options.gateway.tidyUp()
    const found = await deps.store.read(() => wholeTree(options, leg.runId))
    const tree = new RunTree(options, leg, found, () => wake(leg.runId))
    if (await prepareLeg(tree, options)) await drive(tree)
  }
  /** Ends the runs that are asked to end, and takes calls back whose grants are gone. */
  const lookAfter = async (): Promise<void> => {
    if (trees.size === 0) return
    const asked = await deps.store.read(() => runsToCancel(deps.tenant))
    for (const tree of trees.values()) {
      for (const runId of asked) {
        tree.toCancel.add(runId)
        tree.nodes.get(runId)?.ending.abort(cancelled())
      }
      await tree.authority.endRevoked()
    }
  }
  return {
    drive,
    takeUp,
    lookAfter,
    watch,
    wake,
    isDriven: (rootId: string): boolean => trees.has(rootId),
    follow: (rootId: string) => underWay.get(rootId),
    /** Leaves runs to others: turns of models are cut off, calls under way go on to their end. */
    leave: async (): Promise<void> => {
      for (const tree of trees.values()) tree.leaving.abort()
      await Promise.allSettled(underWay.values())
    },
  }
}

/** A leg that failed is tried again later, ever more rarely; one that is only left, by the next who looks. */
async function giveBack({ deps }: DrivingOptions, { leaving, journal: { leg } }: RunTree): Promise<undefined> {
  const waitMs = leaving.signal.aborted ? 0 : Math.min(limits.backoffMaxMs, 100 * 2 ** triesOf(leg))
  await deps.store.write(deps.tenant, releaseLeg(leg, deps.clock.now() + waitMs)).catch(() => undefined)
}

function* wholeTree({ deps: { tenant } }: DrivingOptions, rootId: string): Work<WholeTree> {
  const runs = yield* runsOfRoot<RunPrivate>(tenant, rootId)
  const events: RunEvent[] = []
  for (;;) {
    const some = yield* runEventsOf(tenant, rootId, events.at(-1)?.event_id ?? 0, limits.replayEventsMax)
    events.push(...some)
    if (some.length < limits.replayEventsMax) return { runs, events }
  }
}

/** Who wants to hear when events of a tree are on record. */
function openWatchers() {
  const watchers = new Map<string, Set<() => void>>()
  return {
    wake: (rootId: string): void => {
      for (const each of watchers.get(rootId) ?? []) each()
    },
    watch: (rootId: string, wake: () => void): (() => void) => {
      const known = watchers.get(rootId) ?? new Set()
      watchers.set(rootId, known.add(wake))
      return () => {
        known.delete(wake)
        if (known.size === 0) watchers.delete(rootId)
      }
    },
  }
}

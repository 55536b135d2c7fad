import { limits } from '../../base/limits.ts'
import { isPresent } from '../../gateway/recovery/presence.ts'
import { isEnded, type RunRecord } from '../../model/run.ts'
import {
  type DueLeg,
  deferLeg,
  dueLegs,
  type Leg,
  releaseLeg,
  takeLeg,
  triesOf,
} from '../../storage/tables/runs/legs.ts'
import { eventsOfTree, runsOfRoot, runsToCancel } from '../../storage/tables/runs/runs.ts'
import type { Work } from '../../storage/work.ts'
import { driveTree } from '../loop/drive.ts'
import { cancelled, LegLost, RunEnd } from '../loop/endings.ts'
import { openNode } from '../loop/record.ts'
import { beginRun, placeOfRun } from '../loop/spans.ts'
import { type RunHost, type RunNode, type RunPrivate, RunTree, type WholeTree } from '../loop/tree.ts'

interface Driven {
  readonly tree: RunTree
  /** The record of its root once it pauses or ends, as far as that is in the store. */
  readonly ended: Promise<RunRecord | undefined>
}

/**
 * The run trees that this process drives: those it has started, and those that are due and in no hands, a few at a time.
 * One table in the store says what is due. Takes no more from the signal on.
 */
export function openDriving(host: RunHost, closing: AbortSignal) {
  const { store, tenant, clock, owner } = host.deps
  const driven = new Map<string, Driven>()
  const asked = host.onlyAsked === true ? new Set<string>() : undefined
  let taken = 0

  const drive = (root: RunNode): Promise<unknown> => {
    const { tree } = root
    const release = host.hold()
    const ended = driveTree(root)
      .catch(() => giveBack(tree))
      .finally(() => {
        driven.delete(tree.rootId)
        release()
        host.wake(tree.rootId)
      })
    driven.set(tree.rootId, { tree, ended })
    return ended
  }
  /** Ends the runs that are asked to end, and takes calls back whose grants are gone. */
  const lookAfter = async (): Promise<void> => {
    if (driven.size === 0) return
    const asked = await store.read(() => runsToCancel(tenant))
    for (const { tree } of driven.values()) {
      for (const runId of asked) {
        tree.toCancel.add(runId)
        tree.nodes.get(runId)?.ending.abort(cancelled())
      }
      await tree.authority.endRevoked()
    }
  }
  /** Drives a leg to its next pause. What its last process was doing when it went is ended first. */
  const driveLeg = async (leg: Leg, wasLeft: boolean): Promise<void> => {
    taken++
    try {
      if (wasLeft || triesOf(leg) > 1) await host.gateway.tidyUp()
      const root = await takeUp(host, leg)
      if (root !== undefined) await drive(root)
    } finally {
      taken--
      kick()
    }
  }
  const take = async (due: DueLeg): Promise<void> => {
    if (due.owner !== null && due.owner !== owner && (await isPresent(host.deps, due.owner)))
      return store.write(tenant, deferLeg(due, clock.now() + limits.legCheckMs))
    const leg = await store.write(tenant, takeLeg(due, owner, clock.now(), clock.now() + limits.legCheckMs))
    if (leg !== undefined) driveLeg(leg, due.owner !== null).catch(() => undefined)
  }
  const look = async (): Promise<void> => {
    await lookAfter()
    const free = limits.legsAtOnceMax - taken
    if (closing.aborted || free <= 0) return
    const agents = host.agents().all.map(({ definition }) => definition.manifest.id)
    const due = await store.read(() => dueLegs(tenant, clock.now(), free, agents, asked && [...asked]))
    for (const leg of due) if (!driven.has(leg.runId)) await take(leg)
  }
  const kick = repeat(look, limits.legPollMs, closing)
  return {
    drive,
    lookAfter,
    kick,
    lookAt: (rootId: string): void => {
      asked?.add(rootId)
      kick()
    },
    ended: (rootId: string) => driven.get(rootId)?.ended,
    /** Leaves runs to others: turns of models are cut off, calls under way go on to their end. */
    leave: async (): Promise<void> => {
      for (const { tree } of driven.values()) tree.leaving.abort(new LegLost())
      await Promise.allSettled([...driven.values()].map(({ ended }) => ended))
    },
  }
}

/** A leg that failed is tried again later, ever more rarely; one that is only left, by the next who looks. */
async function giveBack({ host: { deps }, leaving, journal: { leg } }: RunTree): Promise<undefined> {
  const waitMs = leaving.signal.aborted ? 0 : Math.min(limits.backoffMaxMs, 100 * 2 ** triesOf(leg))
  await deps.store.write(deps.tenant, releaseLeg(leg, deps.clock.now() + waitMs)).catch(() => undefined)
}

/** Does work now and again and whenever the returned function is called, never twice at once, until the signal. */
function repeat(work: () => Promise<void>, everyMs: number, signal: AbortSignal): () => void {
  let isWorking = false
  let isAsked = false
  const kick = async (): Promise<void> => {
    isAsked = true
    if (isWorking) return
    isWorking = true
    while (isAsked && !signal.aborted) {
      isAsked = false
      await work().catch(() => undefined)
    }
    isWorking = false
  }
  const timer = setInterval(kick, everyMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer))
  void kick()
  return () => void kick()
}

/**
 * Makes a root run ready to go on where its events end: everything it was allowed at its start is asked again now.
 * Undefined for one that has ended.
 */
async function takeUp(host: RunHost, leg: Leg): Promise<RunNode | undefined> {
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

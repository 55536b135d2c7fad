import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { TraceParent } from '../../base/trace.ts'
import type { ProtectedBranch } from '../../grants/mint.ts'
import type { RunRequest } from '../../model/requests.ts'
import type { RunRecord } from '../../model/run.ts'
import { wakeLeg } from '../../storage/tables/legs.ts'
import { askToCancel } from '../../storage/tables/runs.ts'
import type { Caller } from '../identity/caller.ts'
import { type DrivingOptions, openDriving } from './driving.ts'
import { openEngine } from './legs.ts'
import { startRun } from './start.ts'

export type Runs = ReturnType<typeof openRuns>

export interface RunsOptions extends DrivingOptions {
  readonly protectedBranches: () => readonly ProtectedBranch[]
}

/** How a run was asked for. */
export interface StartedBy {
  /** Whether the caller came through a server. */
  readonly served?: boolean
  readonly place?: TraceParent
}

/** The runs of one tenant in this process: it starts them, drives them, and takes up those that others left. */
export function openRuns(options: RunsOptions) {
  const { deps } = options
  const { drive, takeUp, lookAfter, watch, wake, isDriven, follow, leave } = openDriving(options)
  const agents = () => options.agents().all.map(({ definition }) => definition.manifest.id)
  const slots = limits.legsAtOnceMax
  const engine = openEngine({ deps, slots, agents, isDriven, drive: takeUp, alsoEach: lookAfter })
  let closing = false
  return {
    start: async (
      caller: Caller,
      request: RunRequest,
      { served = false, place }: StartedBy = {},
    ): Promise<RunRecord> => {
      if (closing) throw new Failure('host.closed', 'the host is closing', {}, 'retry later, or on another instance')
      const protectedBranches = options.protectedBranches()
      const { record, tree } = await startRun(options, caller, request, {
        protectedBranches,
        place,
        served,
        written: wake,
      })
      if (tree !== undefined) void drive(tree)
      return record
    },
    /** Ends a run and all below it, wherever it is driven; false if it has ended. */
    cancel: async (record: RunRecord): Promise<boolean> => {
      const asked = await deps.store.write(deps.tenant, function* (tenant) {
        const open = yield* askToCancel(record.run_id)(tenant)
        if (open) yield* wakeLeg(record.root_run_id, deps.clock.now())(tenant)
        return open
      })
      await lookAfter()
      engine.kick()
      return asked
    },
    /** Looks at a run again now: a paused one asks anew, one whose process is gone is taken up. */
    resume: async (record: RunRecord): Promise<void> => {
      await deps.store.write(deps.tenant, wakeLeg(record.root_run_id, deps.clock.now()))
      engine.kick()
    },
    kick: engine.kick,
    /** Says that grants may have been revoked: calls under way whose grants are gone are taken back. */
    revoked: lookAfter,
    /** Calls back whenever events of a tree are on record, until the returned function is called. */
    watch,
    /** The record of a root run once it has ended or waits, if this process drives it. */
    follow: async (rootId: string): Promise<RunRecord | undefined> => follow(rootId),
    agents: options.agents,
    close: async (): Promise<void> => {
      closing = true
      engine.stop()
      await leave()
    },
  }
}

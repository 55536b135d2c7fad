import { EventEmitter } from 'node:events'
import { Failure } from '../../base/failure.ts'
import type { RunRequest } from '../../model/requests.ts'
import type { RunRecord } from '../../model/run.ts'
import { wakeLeg } from '../../storage/tables/runs/legs.ts'
import { askToCancel } from '../../storage/tables/runs/runs.ts'
import type { Caller } from '../identity/caller.ts'
import type { RunHost } from '../loop/tree.ts'
import { openDriving } from './driving.ts'
import { type Asked, findInvoked, type Invocation, startInvoked } from './invoke.ts'
import { type StartedBy, startRun } from './start.ts'

export type Runs = ReturnType<typeof openRuns>

/** The runs of one tenant in this process: it starts them, drives them, and takes up those that others left. */
export function openRuns(options: Omit<RunHost, 'wake'>) {
  const { deps } = options
  const written = new EventEmitter().setMaxListeners(0)
  const host: RunHost = { ...options, wake: (rootId) => void written.emit(rootId) }
  const closing = new AbortController()
  const { drive, lookAfter, kick, lookAt, ended, leave } = openDriving(host, closing.signal)
  const demandOpen = (): void => {
    if (!closing.signal.aborted) return
    throw new Failure('host.closed', 'the host is closing', {}, 'retry later, or on another instance')
  }
  return {
    start: async (caller: Caller, request: RunRequest, by: StartedBy = {}): Promise<RunRecord> => {
      demandOpen()
      const { record, root } = await startRun(host, caller, request, by)
      if (root !== undefined) void drive(root)
      return record
    },
    /** Starts a run that context packs drive. A request that came before starts no second one. */
    invoke: async (caller: Caller, invocation: Invocation, by: StartedBy = {}): Promise<RunRecord> => {
      demandOpen()
      const { record, root } = await startInvoked(host, caller, invocation, by)
      if (root !== undefined) void drive(root)
      return record
    },
    /** The run that an equal request of the same caller has started; one that differs is refused. */
    invokedBefore: (caller: Caller, asked: Asked) => findInvoked(host, caller, asked),
    /** Ends a run and all below it, wherever it is driven; false if it has ended. */
    cancel: async (record: RunRecord): Promise<boolean> => {
      const asked = await deps.store.write(deps.tenant, function* (tenant) {
        const open = yield* askToCancel(record.run_id)(tenant)
        if (open) yield* wakeLeg(record.root_run_id, deps.clock.now())(tenant)
        return open
      })
      await lookAfter()
      lookAt(record.root_run_id)
      return asked
    },
    /** Looks at a run again now: a paused one asks anew, one whose process is gone is taken up. */
    resume: async (record: RunRecord): Promise<void> => {
      await deps.store.write(deps.tenant, wakeLeg(record.root_run_id, deps.clock.now()))
      lookAt(record.root_run_id)
    },
    kick,
    /** Says that grants may have been revoked: calls under way whose grants are gone are taken back. */
    revoked: lookAfter,
    /** Calls back whenever events of a tree are on record, until the returned function is called. */
    watch: (rootId: string, changed: () => void): (() => void) => {
      written.on(rootId, changed)
      return () => void written.off(rootId, changed)
    },
    /** The record of a root run once it has ended or waits, if this process drives it. */
    follow: async (rootId: string): Promise<RunRecord | undefined> => ended(rootId),
    agents: options.agents,
    close: async (): Promise<void> => {
      closing.abort()
      await leave()
    },
  }
}

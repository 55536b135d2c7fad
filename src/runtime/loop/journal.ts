import { formatTime } from '../../base/time.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunEvent, RunEventType } from '../../model/run.ts'
import { holdLeg, type Leg, legTaken } from '../../storage/tables/runs/legs.ts'
import { addRunEvents, type NotedEvent } from '../../storage/tables/runs/runs.ts'
import type { Change, Row, Statement, Work } from '../../storage/work.ts'
import type { RunHost } from './tree.ts'

export type RunJournal = ReturnType<typeof openJournal>

/** One write of the tree, to be committed with whatever else there is. */
export interface JournalWrite {
  /** Notes what happens with the write: once, inside the transaction, so a change that is refused before leaves nothing. */
  readonly noting?: (asked: readonly Row[]) => void
  /** Asked before anything is noted; its rows are given to `noting`. */
  readonly asking?: (tenant: TenantId) => Statement
  readonly statements?: (tenant: TenantId) => readonly Statement[]
  /** In place of holding the leg: the statement that makes, pauses or ends it, counted. */
  readonly leaving?: (tenant: TenantId) => Statement
}

/**
 * The events of one run tree: the only checkpoint there is. They are numbered when they happen, and written with whatever
 * the tree commits next. Every commit holds the leg, so a process that lost it writes nothing more.
 */
export function openJournal(host: RunHost, leg: Leg, traceId: string, recorded: readonly RunEvent[]) {
  const byRun = Map.groupBy(recorded, ({ run_id }) => run_id)
  let last = recorded.at(-1)?.event_id ?? 0
  let unwritten: NotedEvent[] = []
  const wrote = (upTo: number): void => {
    const before = unwritten.length
    unwritten = unwritten.filter(({ event }) => event.event_id > upTo)
    if (unwritten.length < before) host.wake(leg.runId)
  }
  const eventsOf = (runId: string): readonly RunEvent[] => byRun.get(runId) ?? []
  return {
    leg,
    eventsOf,
    /** The event of a type about a call of a run, if there is one. */
    eventOf: (runId: string, callId: string, type: RunEventType): RunEvent | undefined =>
      eventsOf(runId).find((event) => event.type === type && event.data['call_id'] === callId),
    /** The approvals that calls of a run wait for, by call. */
    waitsOf: (runId: string): ReadonlyMap<string, string> => {
      const waits = new Map<string, string>()
      for (const { type, data } of eventsOf(runId)) {
        if (type === 'approval.requested') waits.set(String(data['call_id']), String(data['approval_id']))
        if (type === 'approval.resolved') waits.delete(String(data['call_id']))
      }
      return waits
    },
    /** The facts of a compile are kept beside its event. */
    note: (runId: string, type: RunEventType, data: RunEvent['data'], facts?: NotedEvent['facts']): void => {
      const at = formatTime(host.deps.clock.now())
      const place = { event_id: ++last, run_id: runId, root_run_id: leg.runId, trace_id: traceId }
      const event = { ...place, type, at, data }
      unwritten.push({ event, facts })
      const known = byRun.get(runId)
      if (known === undefined) byRun.set(runId, [event])
      else known.push(event)
    },
    /** `done` is to be called when the change is committed. */
    write({ noting, asking, statements, leaving }: JournalWrite) {
      let isNoted = false
      let included = 0
      const change: Change<void> = function* (tenant): Work<void> {
        const holds = leaving?.(tenant) ?? holdLeg(tenant, leg)
        const [held = [], asked = []] = yield [holds, ...(asking ? [asking(tenant)] : [])]
        if (held.length === 0 || held[0]?.['count'] === 0) throw legTaken(leg.runId)
        if (!isNoted) noting?.(asked)
        isNoted = true
        included = last
        const events = unwritten.length > 0 ? addRunEvents(tenant, unwritten) : []
        const all = [...events, ...(statements?.(tenant) ?? [])]
        if (all.length > 0) yield all
      }
      return { change, done: () => wrote(included) }
    },
  }
}

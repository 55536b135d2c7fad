import type { Json } from '../../base/canonical.ts'
import { type Clock, formatTime } from '../../base/time.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { RunEvent, RunEventType } from '../../model/run.ts'
import { holdLeg, type Leg, legTaken } from '../../storage/tables/legs.ts'
import { addRunEvents } from '../../storage/tables/runs.ts'
import type { Change, Row, Statement, Work } from '../../storage/work.ts'

export type RunJournal = ReturnType<typeof openJournal>

interface JournalOptions {
  readonly leg: Leg
  readonly traceId: string
  readonly clock: Clock
  /** The number of the last event on record. */
  readonly last: number
  /** Called when events are on record. */
  readonly written: () => void
}

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
export function openJournal({ leg, traceId, clock, last: recorded, written }: JournalOptions) {
  let last = recorded
  let unwritten: RunEvent[] = []
  const wrote = (upTo: number) => (): void => {
    const before = unwritten.length
    unwritten = unwritten.filter(({ event_id }) => event_id > upTo)
    if (unwritten.length < before) written()
  }
  const addUnwritten = (tenant: TenantId): Statement[] =>
    unwritten.length > 0 ? [addRunEvents(tenant, unwritten)] : []
  return {
    leg,
    note: (runId: string, type: RunEventType, data: Readonly<Record<string, Json>>): RunEvent => {
      const at = formatTime(clock.now())
      const place = { event_id: ++last, run_id: runId, root_run_id: leg.runId, trace_id: traceId }
      const event = { ...place, type, at, data }
      unwritten.push(event)
      return event
    },
    /** `done` is to be called when the change is committed. */
    write({ noting, asking, statements, leaving }: JournalWrite = {}) {
      let isNoted = false
      let included = 0
      const change: Change<void> = function* (tenant): Work<void> {
        const holds = leaving?.(tenant) ?? holdLeg(tenant, leg)
        const [held = [], asked = []] = yield [holds, ...(asking ? [asking(tenant)] : [])]
        if (held.length === 0 || held[0]?.['count'] === 0) throw legTaken(leg.runId)
        if (!isNoted) noting?.(asked)
        isNoted = true
        included = last
        const all = [...addUnwritten(tenant), ...(statements?.(tenant) ?? [])]
        if (all.length > 0) yield all
      }
      return { change, done: () => wrote(included)() }
    },
  }
}

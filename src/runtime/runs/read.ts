import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { formatSortedId } from '../../base/ids.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { parseTime } from '../../base/time.ts'
import { covers } from '../../grants/cover.ts'
import { isEnded, type RunEvent, type RunRecord } from '../../model/run.ts'
import type { InputOf } from '../../operations/operation.ts'
import type { operations } from '../../operations/table.ts'
import { lastVersion, recordIdOf } from '../../storage/tables/runs/decisions.ts'
import { findRun, listRuns, runEventsOf } from '../../storage/tables/runs/runs.ts'
import { type Caller, demand, demandName, readerOf } from '../identity/caller.ts'
import { type OperationContext, timeOf } from '../operations/context.ts'
import type { Runtime } from '../runtime.ts'

/** One run that the caller may see: its own, or any with the right to audit. Another one is not there. */
export async function runFor({ ambit, caller }: OperationContext, id: string): Promise<RunRecord> {
  const found = await ambit.store.read(() => findRun(caller.tenant, id))
  if (found !== undefined && maySee(caller, found.record)) return found.record
  throw new Failure('run.not_found', `run ${quote(id)} not found`, { id })
}

/** A run that the caller may end or take up, and that has not ended: its own, or any with the right to administer. */
export async function openRunFor(context: OperationContext, id: string): Promise<RunRecord> {
  const { caller } = context
  demandName(caller)
  const record = await runFor(context, id)
  if (readerOf(caller).subject !== record.subject.id) demand(caller, 'administer')
  if (!isEnded(record.status)) return record
  throw hasEnded(id)
}

export const hasEnded = (id: string): Failure => new Failure('run.finished', `run ${quote(id)} has ended`, { id })

export function maySee(caller: Caller, { subject }: RunRecord): boolean {
  const reader = readerOf(caller)
  return reader.all || (reader.subject !== null && reader.subject === subject.id)
}

/** How many runs are looked at for one page: a search that finds few goes on where it stopped. */
const looksMax = 2_000

/** One page of runs, newest first. */
export async function listRunsFor({ ambit, caller }: OperationContext, query: InputOf<typeof operations.runs.list>) {
  const { limit = limits.pageRowsDefault, cursor, since, until, grant, ...rest } = query
  const times = { from: firstId(ambit, since, '/since'), to: firstId(ambit, until, '/until') }
  const filter = defined({ ...rest, ...times })
  const size = Math.min(limit, limits.runsPageMax)
  const fits = (record: RunRecord): boolean =>
    maySee(caller, record) && (grant === undefined || record.grants.some(({ path }) => covers(grant, path)))
  return ambit.store.read(function* () {
    const runs: RunRecord[] = []
    let next = cursor
    for (let looked = 0; looked < looksMax; ) {
      // No more than still fit: a page ends at its last run.
      const page = yield* listRuns(caller.tenant, filter, defined({ limit: size - runs.length, cursor: next }))
      runs.push(...page.items.filter(fits))
      looked += Math.max(page.items.length, 1)
      next = page.next
      if (next === undefined || runs.length === size) break
    }
    return { runs, ...(next !== undefined && { next }) }
  })
}

/** The id that the first run of a time would have. */
export function firstId(ambit: Runtime, text: string | undefined, pointer: string): string | undefined {
  const time = timeOf(ambit, text, pointer)
  return time && formatSortedId('run', parseTime(time) ?? 0, 0)
}

/** The events of a run, as they come, until it has ended: of a root run those of its whole tree. */
export async function* watchRun(
  { ambit, caller, host, signal }: OperationContext,
  { run_id: id, root_run_id: rootId, status }: RunRecord,
  since: number,
): AsyncGenerator<RunEvent> {
  const { runs } = await host()
  let isOver = isEnded(status)
  for (let after = since; !signal?.aborted; ) {
    const changed = Promise.withResolvers<void>()
    const unwatch = runs.watch(rootId, changed.resolve)
    try {
      const events = await ambit.store.read(() => runEventsOf(caller.tenant, rootId, after, limits.pageRowsMax))
      for (const event of events) {
        after = event.event_id
        if (id === rootId || event.run_id === id) yield await withDecision(ambit, caller, event)
        isOver ||= event.run_id === id && event.type === 'run.finished'
      }
      if (events.length > 0) continue
      if (isOver) return
      // Another process may drive it: then only the store says how it goes on.
      await Promise.race([changed.promise, pause(limits.legPollMs, undefined, { ref: true })])
    } finally {
      unwatch()
    }
  }
}

/** The last event of a run brings what was decided, which is kept apart from it. */
async function withDecision(ambit: Runtime, { tenant }: Caller, event: RunEvent): Promise<RunEvent> {
  if (event.type !== 'run.finished') return event
  const record = await ambit.store.read(() => lastVersion(tenant, recordIdOf(event.run_id)))
  return record === undefined
    ? event
    : { ...event, data: { ...event.data, decision_record: record as unknown as Json } }
}

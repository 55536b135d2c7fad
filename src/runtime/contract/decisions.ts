import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import type { InputOf } from '../../operations/operation.ts'
import type { operations } from '../../operations/table.ts'
import { listRecords, recordIdOf, versionsOf } from '../../storage/tables/runs/decisions.ts'
import { findRun } from '../../storage/tables/runs/runs.ts'
import type { OperationContext } from '../operations/context.ts'
import { firstId, maySee, runFor } from '../runs/read.ts'

/** Decision records, newest first. One of a run that the caller may not see is not there. */
export async function listDecisions(
  { ambit, caller }: OperationContext,
  query: InputOf<typeof operations.decisions.list>,
) {
  const { status, since, until, limit = limits.pageRowsDefault, cursor } = query
  const [from, to] = [firstId(ambit, since, '/since'), firstId(ambit, until, '/until')]
  const filter = { status, from: from && recordIdOf(from), to: to && recordIdOf(to) }
  const { items, next } = await ambit.store.read(() => listRecords(caller.tenant, filter, defined({ limit, cursor })))
  const seen: DecisionRecord[] = []
  for (const record of items) if (await isSeen({ ambit, caller }, record)) seen.push(record)
  return { decisions: seen, ...(next !== undefined && { next }) }
}

async function isSeen({ ambit, caller }: Pick<OperationContext, 'ambit' | 'caller'>, { ambit: own }: DecisionRecord) {
  const found = await ambit.store.read(() => findRun(caller.tenant, own.run_id))
  return found !== undefined && maySee(caller, found.record)
}

export async function showDecision(context: OperationContext, named: { readonly id: string }): Promise<DecisionRecord> {
  const newest = (await decisionHistory(context, named)).versions.at(-1)
  if (newest === undefined) throw recordNotFound(named.id)
  return newest
}

/** Every version of one record, by its own id or that of its run. */
export async function decisionHistory(context: OperationContext, { id }: { readonly id: string }) {
  const runId = id.replace(/^dr_/, 'run_')
  await runFor(context, runId).catch(() => {
    throw recordNotFound(id)
  })
  const { ambit, caller } = context
  const versions = await ambit.store.read(() => versionsOf(caller.tenant, recordIdOf(runId)))
  if (versions.length === 0) throw recordNotFound(id)
  return { versions: [...versions] }
}

export const recordNotFound = (id: string): Failure =>
  new Failure('record.not_found', `decision record ${quote(id)} not found`, { id })

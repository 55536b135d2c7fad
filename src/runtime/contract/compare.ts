import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { ReadyPacks } from '../../compile/compile.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import type { ComparedDecision } from '../../model/contract/replay.ts'
import type { InputOf } from '../../operations/operation.ts'
import type { operations } from '../../operations/table.ts'
import { type Comparison, compareRun, refusedWith } from '../../runs/replay/compare.ts'
import { listRecords, recordIdOf } from '../../storage/tables/runs/decisions.ts'
import { findRun } from '../../storage/tables/runs/runs.ts'
import type { OperationContext } from '../operations/context.ts'
import { idOf, loadCandidate, withCandidate } from '../packs/registry.ts'
import { firstId, maySee } from '../runs/read.ts'
import { openStored } from './replay.ts'

/** What recorded runs of a pack would have come to with another version of it, newest first. */
export async function compareRuns(context: OperationContext, asked: InputOf<typeof operations.replay.compare>) {
  const { ambit, caller } = context
  const { pack, document, since, until, limit = limits.pageRowsDefault, cursor } = asked
  const candidate = await loadCandidate(ambit, caller, { pack, document })
  const [from, to] = [firstId(ambit, since, '/since'), firstId(ambit, until, '/until')]
  const filter = { from: from && recordIdOf(from), to: to && recordIdOf(to) }
  const { items, next } = await ambit.store.read(() => listRecords(caller.tenant, filter, defined({ limit, cursor })))
  const load = openStored(context)
  const known = new Map<ReadyPacks, ReadyPacks | Failure>()
  const decisions: ComparedDecision[] = []
  for (const record of items) {
    if (!(await isOf(context, record, idOf(candidate.ref)))) continue
    const found = await comparison(record).catch(unreadable)
    decisions.push(answerOf(record, found))
  }
  return { decisions, ...(next !== undefined && { next }) }

  async function comparison({ ambit: { run_id }, status }: DecisionRecord): Promise<Comparison> {
    const stored = await load(run_id)
    const packs = known.get(stored.packs) ?? attempt(() => withCandidate(stored.packs, candidate))
    known.set(stored.packs, packs)
    return packs instanceof Failure ? refusedWith(packs, status) : compareRun(stored, packs)
  }
}

/** Whether the caller may see the run, and it has pinned a version of the pack. */
async function isOf({ ambit, caller }: OperationContext, record: DecisionRecord, packId: string): Promise<boolean> {
  const found = await ambit.store.read(() => findRun(caller.tenant, record.ambit.run_id))
  if (found === undefined || !maySee(caller, found.record)) return false
  return found.record.compiled?.refs.some(({ ref }) => idOf(ref) === packId) === true
}

function attempt<T>(work: () => T): T | Failure {
  try {
    return work()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/** A run whose packs or facts are not there any more says nothing about others. */
function unreadable(error: unknown): Comparison {
  if (!(error instanceof Failure) || !error.code.startsWith('replay.')) throw error
  const what = error.code === 'replay.snapshot_collected' ? 'facts' : 'packs'
  return { verdict: 'undecidable', missing: [what] }
}

const answerOf = (
  { record_id, timestamp: at, ambit: { run_id } }: DecisionRecord,
  found: Comparison,
): ComparedDecision =>
  ({
    ...{ run_id, record_id, at, ...found },
    ...('rule_ids' in found && { rule_ids: [...found.rule_ids] }),
    ...('missing' in found && { missing: [...found.missing] }),
  }) as ComparedDecision

import { canonical, type Json } from '../../base/canonical.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import type { CompiledRun } from '../plan/compile-run.ts'
import type { Ending } from '../plan/ending.ts'
import { readProgress } from '../plan/progress.ts'
import { makeRecord, type UnsealedRecord } from '../record/record.ts'
import { compare, type DiffKind, type ReplayDiff } from './diffs.ts'
import { momentOf, type RecordedEvent, type StoredRun } from './stored.ts'

/** Makes each version of the record again, at the moment of the run that it is of, and compares it. */
export function compareVersions(
  run: CompiledRun,
  { events, versions }: StoredRun,
  ending: Ending | undefined,
): readonly ReplayDiff[] {
  // A version is written after the compile, at pauses, and at the end.
  const places = events.flatMap(({ type }, index) => (moments.has(type) ? [index] : []))
  let next = -1
  const looped = isFault(versions) ? versions.slice(0, -1) : versions
  return looped.flatMap((version) => {
    const isLast = version.status !== 'IN_FLIGHT'
    if (isLast && ending === undefined) return []
    const left = next < 0 ? [0, ...places] : places.filter((place) => place >= next)
    const candidates = isLast ? left.slice(-1) : left
    const recorded = withoutLinks(version)
    const makeAt = (place: number): UnsealedRecord =>
      madeAt(run, events.slice(0, place), version, isLast ? ending : undefined)
    const found = candidates.find((place) => canonical(makeAt(place) as unknown as Json) === canonical(recorded))
    const named = { stage: 'record', step: `version ${version.ambit.seq}` }
    if (found === undefined) return compare(recorded, makeAt(candidates[0] ?? 0), named, kindAt)
    next = found
    return []
  })
}

const moments: ReadonlySet<string> = new Set(['run.paused', 'run.resumed', 'run.finished'])

/** Ids, times, approvals and what was used are those of the record. */
function madeAt(
  run: CompiledRun,
  before: readonly RecordedEvent[],
  { record_id, timestamp, budget_usage, approvals, ambit }: DecisionRecord,
  ending: Ending | undefined,
): UnsealedRecord {
  const { seq, memory_proposal_ids, release, checkpoint_id, pins } = ambit
  return makeRecord(
    readProgress(before),
    momentOf(run, { at: timestamp, type: 'run.paused', data: {} }),
    ending ?? 'IN_FLIGHT',
    {
      ...{ record_id, timestamp, seq, budget_usage, approvals, memory_proposal_ids, release },
      ...(checkpoint_id !== null && { checkpoint_id }),
      ...(pins && { pins: pins as typeof pins & { readonly envelope_hash: `sha256:${string}` } }),
    },
  )
}

function withoutLinks({ record_hash, previous_hash, signature, ...rest }: DecisionRecord): Json {
  return rest as unknown as Json
}

function kindAt(pointer: string): DiffKind {
  if (/^\/(?:evidence_refs|confidence|lineage\/snapshot_version)/.test(pointer)) return 'evidence'
  if (/^\/(?:policy_decisions|controls_active|approvals)/.test(pointer)) return 'policy'
  if (/^\/ambit\/(?:scorecard|verdicts)/.test(pointer)) return 'scorecard'
  return pointer.startsWith('/ambit/compiled_context_hash') ? 'compiled_context' : 'tamper'
}

/** Whether a fault has ended the run: its last version is the one before, handed over to people. */
export function isFault(versions: readonly DecisionRecord[]): boolean {
  const [before, last] = versions.slice(-2)
  return last?.status === 'ESCALATED' && before !== undefined && contentOf(last) === contentOf(before)
}

const contentOf = (version: DecisionRecord): string =>
  canonical(
    withoutLinks({ ...version, status: 'ESCALATED', timestamp: '', ambit: { ...version.ambit, seq: 0, cause: null } }),
  )

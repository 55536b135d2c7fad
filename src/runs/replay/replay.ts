import { Failure } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { type StageName, stageNames } from '../../model/contract/compiled.ts'
import { type CompiledRun, compileRun } from '../plan/compile-run.ts'
import { compare, type DiffKind, type ReplayDiff, type ReplayResult, resultOf } from './diffs.ts'
import { replayMoves } from './moves.ts'
import { demandEnvelope, demandTranscripts, findTampering } from './pins.ts'
import type { StoredRun } from './stored.ts'
import { compareVersions } from './versions.ts'

/**
 * Decides a recorded run again: compiled from its stored facts and packs, its loop run on its recorded plans and answers,
 * its record written anew. Fails with `replay.…` where what it is held to is not there or is not whole.
 */
export function replayRun(stored: StoredRun): ReplayResult {
  const tampered = findTampering(stored)
  if (tampered.length > 0) return resultOf(tampered)
  demandEnvelope(stored)
  demandTranscripts(stored)
  const run = compileAgain(stored)
  if ('diff' in run) return resultOf([run.diff])
  const compiled = compileDiffs(run, stored)
  if (compiled.length > 0) return resultOf(compiled)
  const { diffs, ending } = replayMoves(run, stored)
  return resultOf([...diffs, ...compareVersions(run, stored, ending)])
}

function compileAgain({ envelope, facts, packs, measure }: StoredRun): CompiledRun | { readonly diff: ReplayDiff } {
  try {
    return compileRun({ context: envelope.context, facts, packs }, measure)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const replayed = { code: wireCode(error.code), message: error.message }
    return { diff: { kind: 'compiled_context', stage: 'compile', pointer: '', recorded: null, replayed } }
  }
}

/** One difference: the first stage in which the compiles differ, or what its event or its record says otherwise. */
function compileDiffs(run: CompiledRun, { events, versions }: StoredRun): readonly ReplayDiff[] {
  const { compiled_context_hash, ambit } = run.compiled.context_ledger
  const { stage_hashes, content_hash } = ambit
  const { event_id = 0, data = {} } = events.find(({ type }) => type === 'compile.done') ?? {}
  const stages = data['stage_hashes'] as Readonly<Record<string, string>> | undefined
  const stage = stageNames.find((name) => stages !== undefined && stages[name] !== stage_hashes[name])
  const pinned = versions[0]?.ambit.compiled_context_hash
  const isEqual = pinned === compiled_context_hash
  if (stage !== undefined)
    return compare(stages?.[stage], stage_hashes[stage], { stage, event_id }, isEqual ? 'tamper' : kindOf(stage))
  const { compiled_context_hash: hash, content_hash: content } = data
  const said = { compiled_context_hash: pinned, event: hash, content_hash: content }
  const made = { compiled_context_hash, event: compiled_context_hash, content_hash }
  return compare(said, made, { stage: 'manifests', event_id }, isEqual ? 'tamper' : 'compiled_context').slice(0, 1)
}

const kindOf = (stage: StageName): DiffKind => (stage === 'evidence' || stage === 'policy' ? stage : 'compiled_context')

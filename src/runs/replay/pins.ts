import { Failure, quote } from '../../base/failure.ts'
import { recordHash } from '../../evidence/record-hash.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import { readProgress } from '../plan/progress.ts'
import { envelopeHash, transcriptsOf } from '../record/pins.ts'
import { mayMove } from '../record/record.ts'
import { compare, type ReplayDiff } from './diffs.ts'
import type { StoredRun } from './stored.ts'

/** What was changed of the record itself or of the facts since they were written. */
export function findTampering({ versions, sealed, events, factsHash }: StoredRun): readonly ReplayDiff[] {
  const links = versions.flatMap((version, index) => linkDiffs(version, versions[index - 1], sealed))
  if (links.length > 0) return links
  const said = events.find(({ type }) => type === 'compile.done')?.data['facts_hash']
  const pinned = versions[0]?.ambit.pins?.facts_hash ?? said
  const place = { stage: 'facts' }
  return [...compare(pinned, factsHash, place, 'tamper'), ...compare(said, factsHash, place, 'tamper')].slice(0, 1)
}

function linkDiffs(
  version: DecisionRecord,
  previous: DecisionRecord | undefined,
  sealed: StoredRun['sealed'],
): readonly ReplayDiff[] {
  const { record_hash, previous_hash, status, ambit } = version
  const stays = status === 'IN_FLIGHT' && previous?.status === 'IN_FLIGHT'
  const linked = {
    ...{ record_hash, previous_hash, seq: ambit.seq, moves: true, in_evidence: true },
  }
  const made = {
    ...{ record_hash: recordHash(version), previous_hash: previous?.record_hash ?? null },
    ...{ seq: previous === undefined ? 0 : previous.ambit.seq + 1, moves: stays || mayMove(previous?.status, status) },
    in_evidence: sealed.has(record_hash),
  }
  return compare(linked, made, { stage: 'record', step: `version ${ambit.seq}` }, 'tamper')
}

/** Refuses a run that is not the one its record is of. */
export function demandEnvelope({ runId, envelope, versions, facts }: StoredRun): void {
  const { context, request } = envelope
  const pinned = versions[0]?.ambit.pins?.envelope_hash
  const isOwn = context.run_id === runId && request.request_id === facts.request.request_id
  if (isOwn && (pinned === undefined || pinned === envelopeHash(envelope))) return
  const message = `what run ${quote(runId)} was asked is not what its record is of`
  throw new Failure('replay.envelope_mismatch', message, { run_id: runId })
}

/** Refuses plans and answers that are not those of the record. What came after its last version is not pinned yet. */
export function demandTranscripts({ runId, events, versions }: StoredRun): void {
  const pinned = versions.at(-1)?.ambit.pins?.transcripts ?? []
  const found = transcriptsOf(readProgress(events))
  const index = pinned.findIndex((hash, place) => found[place]?.hash !== hash)
  if (index < 0) return
  const step = found[index]?.step ?? found.at(-1)?.step ?? 'plan 0'
  const message = `the transcript of run ${quote(runId)} is broken at ${quote(step)}`
  throw new Failure('replay.transcript_broken', message, { run_id: runId, step })
}

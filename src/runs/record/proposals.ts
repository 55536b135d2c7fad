import { canonical, type Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import type { DecisionRecord, MemoryProposal } from '../../model/contract/decision.ts'
import type { ContextPack } from '../../model/contract/pack.ts'

/** What a run has learned and what may become of it. */
export interface Consolidating {
  readonly run_id: string
  readonly candidates: readonly MemoryCandidate[]
  /** Of the pack that is named first. */
  readonly layer: ContextPack['memory_layer']
  /** What the person said, by class. */
  readonly consents: Readonly<Partial<Record<MemoryClass, 'granted' | 'withdrawn'>>>
  /** Promoted memory, oldest first. */
  readonly promoted: readonly PromotedMemory[]
  /** Keys of what was rejected before: see `candidateKey`. */
  readonly rejected: ReadonlySet<string>
}

export type MemoryClass = MemoryProposal['class']
export type MemoryCandidate = MemoryProposal['candidate'] & { readonly class: MemoryClass }

export interface PromotedMemory {
  readonly memory_id: string
  readonly entity_ceid: string
  readonly predicate: string
  readonly value: Json
  readonly class: MemoryClass
}

/** Proposals only: nothing is written, and a contradiction overwrites nothing. One of no class that the pack writes is none. */
export const consolidate = (given: Consolidating): readonly MemoryProposal[] =>
  given.candidates.flatMap((candidate) =>
    given.layer.write_classes.includes(candidate.class) ? [proposalFor(candidate, given)] : [],
  )

function proposalFor(given: MemoryCandidate, by: Consolidating): MemoryProposal {
  const { class: kind, ...candidate } = given
  const consent_check = consentFor(kind, by)
  const contradiction_check = contradictionOf(given, by.promoted)
  const { min_confidence, auto_promote_classes } = by.layer.promotion
  const isKnown = by.rejected.has(candidateKey(given)) || contradiction_check.verdict === 'duplicate'
  const isAllowed = consent_check === 'granted' || consent_check === 'not_required'
  const isSure = candidate.confidence >= min_confidence
  const state = isKnown ? 'rejected' : isAllowed && isSure ? 'queued' : 'candidate'
  return {
    proposal_id: `mp_${sha256(canonical([by.run_id, candidateKey(given)])).slice(0, 16)}`,
    ...{ candidate, class: kind, tier_target: tierOf[kind], consent_check, contradiction_check, state },
    auto_promote_eligible:
      state === 'queued' && contradiction_check.verdict === 'none' && auto_promote_classes.includes(kind),
    ambit: { run_id: by.run_id, change: kind === 'correction' ? 'correct' : 'write' },
  }
}

/** The same statement about the same entity, by any author. */
export const candidateKey = ({ entity_ceid, predicate, value, class: kind }: MemoryCandidate): string =>
  sha256(canonical([entity_ceid, predicate, value, kind]))

const tierOf = {
  evidence_link: 'semantic',
  preference: 'durable',
  decision_outcome: 'episodic',
  correction: 'durable',
} as const

/** A withdrawn consent counts where none is needed too. */
function consentFor(kind: MemoryClass, { layer, consents }: Consolidating): MemoryProposal['consent_check'] {
  const said = consents[kind]
  if (said !== undefined) return said
  return layer.consent_required.includes(kind) ? 'missing' : 'not_required'
}

function contradictionOf(
  { entity_ceid, predicate, value, class: kind }: MemoryCandidate,
  promoted: readonly PromotedMemory[],
): MemoryProposal['contradiction_check'] {
  const ruling = rulingMemory(promoted, entity_ceid, predicate)
  if (ruling === undefined) return { existing: null, verdict: 'none' }
  const isSame = canonical(ruling.value) === canonical(value)
  const verdict = isSame ? 'duplicate' : kind === 'correction' ? 'supersedes' : 'contradicts'
  return { existing: ruling.memory_id, verdict }
}

/** What holds of an entity: the last correction, else what was promoted last. */
export function rulingMemory(promoted: readonly PromotedMemory[], entity: string, predicate: string) {
  const about = promoted.filter((each) => each.entity_ceid === entity && each.predicate === predicate)
  return about.findLast((each) => each.class === 'correction') ?? about.at(-1)
}

/** What a decided record says of its subjects: how it decided, and on what evidence. */
export function candidatesFrom({
  status,
  subject_ids,
  decision_key,
  confidence,
  ambit: { decision },
}: Pick<DecisionRecord, 'status' | 'subject_ids' | 'decision_key' | 'confidence'> & {
  readonly ambit: Pick<DecisionRecord['ambit'], 'decision'>
}): readonly MemoryCandidate[] {
  if (status !== 'DECIDED' || decision === null) return []
  const { outcome, evidence_refs } = decision
  return subject_ids.flatMap((entity_ceid) => [
    {
      entity_ceid,
      predicate: decision_key,
      value: outcome,
      evidence_refs,
      confidence,
      class: 'decision_outcome' as const,
    },
    ...evidence_refs.map((ref) => ({
      ...{ entity_ceid, predicate: `evidence:${ref}`, value: ref, evidence_refs: [ref], confidence },
      class: 'evidence_link' as const,
    })),
  ])
}

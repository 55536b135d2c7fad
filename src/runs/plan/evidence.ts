import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import { parseTime } from '../../base/time.ts'
import type { EvidenceFact } from '../../model/contract/compiled.ts'
import { type Loop, type LoopFacts, packCapability, specOf } from './facts.ts'
import { finishedSteps, wentWell } from './progress.ts'

/** Evidence that the loop itself is: that rules were asked, that people were. */
export const isRuntimeEvidence = (key: string): boolean => key === 'policy_eval' || key === 'approval'

/** The keys that a step provides: as its capability declares, and as a template of the intent says of this step. */
export function providedBy(loop: LoopFacts, step: { readonly id: string; readonly tool: string }): readonly string[] {
  const inTemplates = loop.known.templates
    .flatMap(({ steps }) => steps)
    .filter(({ id, tool }) => id === step.id && tool === step.tool)
  const { provides: always = [] } = packCapability(loop, step.tool) ?? {}
  return [...new Set([...always, ...inTemplates.flatMap(({ provides = [] }) => provides)])]
}

/** Worked out once for one moment of a run, however many rules ask. */
function once<T>(work: (loop: Loop) => T): (loop: Loop) => T {
  const known = new WeakMap<Loop, T>()
  return (loop) => {
    const made = known.get(loop) ?? work(loop)
    known.set(loop, made)
    return made
  }
}

/** All facts by key: admitted ones, what the request claims, and what steps have answered. */
const evidenceIn = once((loop): readonly EvidenceFact[] => {
  const admitted = loop.evidence.filter(({ key }) => key !== undefined)
  const refs = new Set(admitted.map(({ evidence_ref }) => evidence_ref))
  return [...admitted, ...askedFacts(loop).filter(({ evidence_ref }) => !refs.has(evidence_ref)), ...stepFacts(loop)]
})

/** All that a call of the run may name as evidence. */
export const evidenceRefsIn = once((loop): ReadonlySet<string> => {
  const { evidence_refs, memory_refs } = loop.compiled.context_ledger
  const facts = [...loop.evidence, ...evidenceIn(loop)]
  return new Set([...evidence_refs, ...memory_refs, ...facts.map(({ evidence_ref }) => evidence_ref)])
})

const askedFacts = ({ request, context, now }: LoopFacts): readonly EvidenceFact[] =>
  Object.entries(request.context ?? {}).map(([key, value = null]) => ({
    ...{ evidence_ref: `request:${request.request_id}#/input/context/${key}`, key, value, authority: 'asserted' },
    ...{ tenant_id: context.tenant_id, observed_at: now, hash: objectHash(value) },
  }))

/** What the same capability said of a key before is superseded. An answer without content provides nothing. */
function stepFacts(loop: Loop): readonly EvidenceFact[] {
  const found = new Map<string, EvidenceFact>()
  for (const { step, call, answer } of finishedSteps(loop.progress)) {
    const value = answer.output
    if (!wentWell(answer) || value === null || value === undefined) continue
    for (const key of providedBy(loop, { id: step, tool: call.capability_id }))
      found.set(JSON.stringify([key, call.capability_id]), {
        ...{ evidence_ref: `tool:${call.capability_id}:${call.call_id}`, key, value, authority: 'verified' },
        ...{ tenant_id: loop.context.tenant_id, observed_at: answer.at, hash: objectHash(value) },
      })
  }
  return [...found.values()]
}

export interface KeyState {
  readonly key: string
  readonly state: 'present' | 'missing' | 'stale' | 'conflict' | 'asserted'
  readonly fact?: EvidenceFact
}

/** How a key stands: what is only asserted counts where the spec accepts it, and two that differ count for nothing. */
function stateOf(
  key: string,
  all: readonly EvidenceFact[],
  { now, accepted }: { readonly now: string; readonly accepted: readonly string[] },
): KeyState {
  const about = all.filter((fact) => fact.key === key && fact.authority !== 'untrusted')
  const isStrong = ({ authority }: EvidenceFact): boolean => authority !== 'asserted'
  const strong = about.filter((fact) => isStrong(fact) && isCurrent(fact, now))
  if (strong.length > 0) return agreed(key, strong)
  const asserted = about.filter((fact) => isCurrent(fact, now))
  if (asserted.length === 0) return { key, state: about.length > 0 ? 'stale' : 'missing' }
  return accepted.includes(key) ? agreed(key, asserted) : { key, state: 'asserted' }
}

function agreed(key: string, facts: readonly EvidenceFact[]): KeyState {
  const resolved = facts.filter(({ resolution_ref }) => resolution_ref !== undefined)
  const counting = resolved.length > 0 ? resolved : facts
  const isOpen = resolved.length === 0 && facts.some(({ conflicts = [] }) => conflicts.length > 0)
  const [fact] = counting
  if (fact === undefined || isOpen || counting.some(({ hash }) => hash !== fact.hash)) return { key, state: 'conflict' }
  return { key, state: 'present', fact }
}

const isCurrent = ({ expires_at }: EvidenceFact, now: string): boolean =>
  expires_at === undefined || (parseTime(expires_at) ?? 0) > (parseTime(now) ?? Number.POSITIVE_INFINITY)

/** The state of each of these keys, as the spec of the run takes evidence. */
export function keyStates(keys: readonly string[], loop: Loop): readonly KeyState[] {
  const all = evidenceIn(loop)
  const accepted = specOf(loop)?.accept_asserted ?? []
  return keys.map((key) => stateOf(key, all, { now: loop.now, accepted }))
}

/** What rules read as `evidence`: by key, only what counts. */
export const evidenceRoot = once((loop): { readonly [key: string]: Json } => {
  const keys = new Set(evidenceIn(loop).flatMap(({ key }) => key ?? []))
  const present = keyStates([...keys], loop)
  return Object.fromEntries(
    present.flatMap(({ key, fact }) => (fact === undefined ? [] : [[key, fact.value] as const])),
  )
})

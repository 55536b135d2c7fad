import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { memoryProposal } from '../../model/contract/decision.ts'
import {
  type Consolidating,
  candidateKey,
  consolidate,
  type MemoryCandidate,
  type PromotedMemory,
  rulingMemory,
} from './proposals.ts'

const candidate = (more: Partial<MemoryCandidate> = {}): MemoryCandidate => ({
  ...{ entity_ceid: 'batch:bat_5120', predicate: 'bin_of', value: 'B7', evidence_refs: [], confidence: 0.9 },
  class: 'evidence_link',
  ...more,
})
const promoted = (value: string, kind: PromotedMemory['class'] = 'evidence_link'): PromotedMemory => ({
  ...{ memory_id: `mem_${value}`, entity_ceid: 'batch:bat_5120', predicate: 'bin_of', value, class: kind },
})
const given = (more: Partial<Consolidating> = {}): Consolidating => ({
  ...{ run_id: 'run_01a1f46e00000001', candidates: [candidate()], consents: {}, promoted: [], rejected: new Set() },
  layer: {
    write_classes: ['evidence_link', 'preference', 'correction'],
    consent_required: ['preference'],
    promotion: { min_confidence: 0.8, auto_promote_classes: ['evidence_link', 'preference'] },
  },
  ...more,
})
const only = (more: Partial<Consolidating> = {}) => {
  const [proposal] = consolidate(given(more))
  return proposal && memoryProposal.parse(proposal)
}

test('what is sure, allowed and new is queued, and of a listed class may be promoted by itself [R-06]', () => {
  const proposal = only()
  assert.deepEqual([proposal?.state, proposal?.auto_promote_eligible], ['queued', true])
  assert.deepEqual(proposal?.contradiction_check, { existing: null, verdict: 'none' })
  assert.equal(only({ candidates: [candidate({ class: 'correction' })] })?.auto_promote_eligible, false)
  assert.equal(only({ candidates: [candidate({ confidence: 0.7 })] })?.state, 'candidate')
})

test('a class that the pack does not write is no proposal, and one without consent is not queued [R-06]', () => {
  assert.equal(only({ candidates: [candidate({ class: 'decision_outcome' })] }), undefined)
  const preference = { candidates: [candidate({ class: 'preference' })] }
  assert.deepEqual([only(preference)?.consent_check, only(preference)?.state], ['missing', 'candidate'])
  assert.equal(only({ ...preference, consents: { preference: 'withdrawn' } })?.state, 'candidate')
  assert.equal(only({ ...preference, consents: { preference: 'granted' } })?.state, 'queued')
})

test('a contradiction is said and changes nothing; a correction outranks what was there [R-06]', () => {
  const before = [promoted('B4')]
  const other = only({ promoted: before })
  assert.deepEqual(other?.contradiction_check, { existing: 'mem_B4', verdict: 'contradicts' })
  assert.deepEqual([other?.state, other?.auto_promote_eligible], ['queued', false])
  assert.equal(rulingMemory(before, 'batch:bat_5120', 'bin_of')?.value, 'B4')
  const correction = only({ promoted: before, candidates: [candidate({ class: 'correction' })] })
  assert.equal(correction?.contradiction_check.verdict, 'supersedes')
  const after = [...before, promoted('B7', 'correction'), promoted('B9')]
  assert.equal(rulingMemory(after, 'batch:bat_5120', 'bin_of')?.value, 'B7')
})

test('what is known already, or was rejected before, is rejected [R-06]', () => {
  assert.equal(only({ promoted: [promoted('B7')] })?.state, 'rejected')
  assert.equal(only({ rejected: new Set([candidateKey(candidate())]) })?.state, 'rejected')
})

test('whatever is proposed, nothing is promoted, and nothing is queued without class, consent and confidence [R-06]', () => {
  const kinds = ['evidence_link', 'preference', 'decision_outcome', 'correction'] as const
  const anyCandidate = fc.record({
    ...{
      entity_ceid: fc.constantFrom('a', 'b'),
      predicate: fc.constantFrom('p', 'q'),
      value: fc.constantFrom('x', 'y'),
    },
    ...{
      evidence_refs: fc.constant<string[]>([]),
      confidence: fc.double({ min: 0, max: 1, noNaN: true }),
      class: fc.constantFrom(...kinds),
    },
  })
  const anyPromoted = fc.record({
    ...{
      memory_id: fc.constantFrom('m1', 'm2'),
      entity_ceid: fc.constantFrom('a', 'b'),
      predicate: fc.constantFrom('p', 'q'),
    },
    ...{ value: fc.constantFrom('x', 'y'), class: fc.constantFrom(...kinds) },
  })
  const anyConsents = fc.constantFrom({}, { preference: 'granted' as const }, { preference: 'withdrawn' as const })
  fc.assert(
    fc.property(
      fc.array(anyCandidate, { maxLength: 4 }),
      fc.array(anyPromoted),
      anyConsents,
      (candidates, before, consents) => {
        const world = given({ candidates, promoted: before, consents })
        const copy = JSON.stringify(before)
        for (const proposal of consolidate(world)) {
          memoryProposal.parse(proposal)
          assert.notEqual(proposal.state, 'promoted')
          if (proposal.state !== 'queued') continue
          assert(world.layer.write_classes.includes(proposal.class) && proposal.candidate.confidence >= 0.8)
          assert(proposal.class !== 'preference' || ('preference' in consents && consents.preference === 'granted'))
          if (proposal.auto_promote_eligible) assert.equal(proposal.contradiction_check.verdict, 'none')
        }
        assert.equal(JSON.stringify(before), copy)
      },
    ),
  )
})

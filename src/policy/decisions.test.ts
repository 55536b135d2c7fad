import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { BlockPattern } from '../model/config/config.ts'
import { policyDecision } from '../model/evidence.ts'
import { decideByPatterns, denialCodeOf, strictest } from './decisions.ts'

const order = [
  'deny',
  'sandbox_only',
  'requires_escalation',
  'requires_more_evidence',
  'requires_approval',
  'allow',
] as const

test('each of the six decisions has its code [H-33]', () => {
  assert.deepEqual(Object.fromEntries(policyDecision.options.map((decision) => [decision, denialCodeOf(decision)])), {
    allow: null,
    deny: 'policy_blocked',
    requires_approval: 'approval_required',
    requires_escalation: 'escalation_required',
    requires_more_evidence: 'evidence_required',
    sandbox_only: 'policy_blocked',
  })
})

test('of several decisions the strictest wins, in whatever order they come [H-33]', () => {
  for (const [index, decision] of order.entries()) {
    const milder = order.slice(index)
    assert.equal(strictest(milder), decision)
    assert.equal(strictest(milder.toReversed()), decision)
  }
  assert.equal(strictest([]), undefined)
})

const pattern = (fields: Partial<BlockPattern> = {}): BlockPattern => ({
  capability_id: 'w.cap',
  field: 'cmd',
  pattern: 'danger',
  ...fields,
})
const decide = (patterns: BlockPattern[], cmd: unknown, capabilityId = 'w.cap') =>
  decideByPatterns(patterns, { capabilityId, input: { cmd } as never })

test('block patterns deny unless they say otherwise, without regard to case [H-33]', () => {
  assert.equal(decide([pattern()], 'so DANGERous'), 'deny')
  assert.equal(decide([pattern({ decision: 'requires_approval' })], 'danger'), 'requires_approval')
  assert.equal(decide([pattern()], 'safe'), 'allow')
  assert.equal(decide([], 'danger'), 'allow')
})

test('block patterns are about one capability and one field of its own [H-33]', () => {
  assert.equal(decide([pattern()], 'danger', 'other.cap'), 'allow')
  assert.equal(decide([pattern({ field: 'text' })], 'danger'), 'allow')
  assert.equal(decide([pattern({ field: 'toString', pattern: '.' })], 'x'), 'allow')
})

test('block patterns are not dodged by wrapping the text [H-33]', () => {
  assert.equal(decide([pattern()], ['danger']), 'deny')
  assert.equal(decide([pattern()], { deep: { text: 'danger' } }), 'deny')
  assert.equal(decide([pattern({ pattern: '^42$' })], 42), 'deny')
  assert.equal(decide([pattern({ pattern: '^null$' })], null), 'deny')
})

test('of several block patterns that match the strictest wins [H-33]', () => {
  const patterns = [pattern({ decision: 'requires_approval' }), pattern({ decision: 'requires_escalation' })]
  assert.equal(decide(patterns, 'danger'), 'requires_escalation')
  assert.equal(decide([...patterns, pattern({ pattern: 'x', decision: 'deny' })], 'danger'), 'requires_escalation')
})

test('block patterns that cannot be read deny [H-33]', () => {
  assert.equal(decide([pattern({ pattern: '(' })], 'anything'), 'deny')
  assert.equal(decide([pattern({ pattern: '(', decision: 'requires_approval' })], 'anything'), 'deny')
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { facts, policies } from '../../test/support/policy-arbitrary.ts'
import { capability, qualityRelease, recordedCall } from '../../test/support/policy-example.ts'
import type { Json } from '../base/canonical.ts'
import type { CallRecord, PolicyDecision } from '../model/evidence.ts'
import type { Facts } from './conditions/values.ts'
import { decide } from './decide.ts'
import { compilePolicies } from './policies.ts'
import { shadow } from './shadow.ts'

type Rule = readonly [decision: PolicyDecision, when: Json]

/** What policies with these rules say to the recorded call, which was held for approval. */
const answer = (rules: readonly Rule[], change: Partial<CallRecord> = {}) => {
  const made = rules.map(([decision, when], index) => ({ id: `r${index}`, when, decision }))
  const set = compilePolicies([{ name: 'next', version: '1', applies_to: ['depot.*'], rules: made }])
  return shadow(set, { ...recordedCall, record: { ...recordedCall.record, ...change } })
}
const entry = (gate: number, rule: string, effect = 'deny') => ({ gate, rule, effect, reads: [] })
const allowed = { decision: 'allow' as const, basis: [entry(6, 'old/all', 'allow')] }
const consignee = { '==': [{ var: 'context.consignee' }, 'Clinic 88, Tromsø'] }

test('evidence suffices to decide again: the policy of the time says the same [H-49]', () => {
  assert.deepEqual(shadow(compilePolicies([qualityRelease]), recordedCall), {
    is: 'equal',
    decision: 'requires_approval',
  })
})

test('evidence suffices to say what another policy would have decided, and by which rule [H-49]', () => {
  const [routine, cold, excursion] = qualityRelease.rules
  assert(routine !== undefined && cold !== undefined && excursion !== undefined)
  const tolerant = { '<': [{ var: 'context.excursion_minutes' }, 30] }
  const rules = [routine, { ...cold, when: tolerant }, { ...excursion, when: { '!': tolerant } }]
  assert.deepEqual(shadow(compilePolicies([{ ...qualityRelease, version: '4', rules }]), recordedCall), {
    is: 'differs',
    from: 'requires_approval',
    to: 'allow',
    rule: 'quality_release/cold',
  })
  assert.deepEqual(answer([['allow', false]]), { is: 'differs', from: 'requires_approval', to: 'deny', rule: null })
})

test('evidence that has only a digest names the field that would be needed [H-49]', () => {
  const needs = { is: 'needs', from: 'requires_approval', fields: ['context.consignee'] }
  assert.deepEqual(answer([['allow', consignee]]), needs)
  assert.deepEqual(answer([['allow', { '!': { var: 'context.consignee' } }]]), needs)
  assert.deepEqual(
    answer([
      ['allow', true],
      ['deny', { and: [true, consignee] }],
    ]),
    needs,
  )
})

test('evidence that has only a digest still tells that the field was there [H-49]', () => {
  const there = { '!': { missing: ['context.consignee'] } }
  assert.deepEqual(answer([['allow', there]]), {
    is: 'differs',
    from: 'requires_approval',
    to: 'allow',
    rule: 'next/r0',
  })
  assert.equal(answer([['allow', { '!': { missing: ['context.consignee.name'] } }]])?.is, 'needs')
  assert.equal(answer([['allow', { '!': { missing: ['context.other'] } }]])?.is, 'needs')
})

test('a field that cannot change the answer is not asked for [H-49]', () => {
  const approval: Rule = ['requires_approval', true]
  assert.equal(answer([approval, ['allow', consignee]])?.is, 'equal')
  assert.equal(answer([approval, ['requires_approval', consignee]])?.is, 'equal')
  assert.equal(answer([approval, ['deny', { and: [false, consignee] }]])?.is, 'equal')
  assert.equal(answer([approval, ['deny', consignee]])?.is, 'needs')
  assert.equal(
    answer([
      ['deny', true],
      ['allow', consignee],
    ])?.is,
    'differs',
  )
  assert.equal(
    answer([
      ['allow', { '>': [{ var: 'context.purpose' }, 1] }],
      ['deny', consignee],
    ])?.is,
    'differs',
  )
})

test('facts of the call are those of its record: who, where, when, what for [H-49]', () => {
  const holds = (when: Json, change: Partial<CallRecord> = {}) => {
    const found = answer([['allow', when]], { ...allowed, ...change })
    return found?.is === 'needs' ? found.fields : found?.is === 'equal'
  }
  assert.equal(holds({ '==': [{ var: 'subject.id' }, 'stock-planner'] }), true)
  assert.equal(holds({ '==': [{ var: 'actor.type' }, 'agent'] }), true)
  assert.equal(holds({ '!': { var: 'actor' } }, { actor: null }), true)
  assert.equal(holds({ '==': [{ var: 'environment' }, 'prod'] }), true)
  assert.equal(holds({ '==': [{ var: 'now' }, recordedCall.timestamp] }), true)
  assert.equal(holds({ '==': [{ var: 'purpose' }, 'shortage'] }), true)
  assert.equal(holds({ '==': [{ var: 'context.environment' }, 'prod'] }), true)
  assert.equal(holds({ '==': [{ var: 'capability.id' }, capability] }), true)
  assert.equal(holds({ '==': [{ var: 'capability.version' }, '2.1.0'] }), true)
  assert.deepEqual(holds({ '==': [{ var: 'capability.risk' }, 'high'] }), ['capability.risk'])
  assert.deepEqual(holds({ '>': [{ var: 'history.calls' }, 1] }), ['history.calls'])
  assert.deepEqual(holds({ '!': { var: 'context' } }), ['context'])
  assert.deepEqual(holds({ '==': [{ var: 'context.new_field' }, 1] }), ['context.new_field'])
  assert.deepEqual(holds({ '==': [{ var: 'purpose' }, 'x'] }, { context: [] }), ['purpose'])
})

test('a field that was absent is absent, and one that was invalid or a fraction is not known [H-49]', () => {
  const entry = { name: 'f', source: 'payload:/f', sensitive: false } as const
  const verdict = (when: Json, more: object) =>
    answer([['allow', when]], { ...allowed, context: [{ ...entry, ...more } as never] })?.is
  assert.equal(verdict({ '!': { var: 'context.f' } }, { state: 'absent' }), 'equal')
  assert.equal(verdict({ '!': { var: 'context.f' } }, { state: 'invalid' }), 'needs')
  assert.equal(verdict({ '==': [{ var: 'context.f' }, 'x'] }, { state: 'present', value: 'x' }), 'equal')
  assert.equal(verdict({ '==': [{ var: 'context.f' }, '2'] }, { state: 'present', value: '2' }), 'equal')
  assert.equal(verdict({ '==': [{ var: 'context.f' }, ' '] }, { state: 'present', value: ' ' }), 'equal')
  assert.equal(verdict({ '==': [{ var: 'context.f' }, '2.5'] }, { state: 'present', value: '2.5' }), 'needs')
  assert.equal(verdict({ '==': [{ var: 'context.f' }, 2.5] }, { state: 'present', value: '2.5' }), 'needs')
  assert.equal(verdict({ '!!': { var: 'context.f' } }, { state: 'present', value: [1, { a: '2.5' }] }), 'needs')
  assert.equal(verdict({ '!!': { var: 'context.f' } }, { state: 'present', value: 'so [redacted] it is' }), 'needs')
  assert.equal(verdict({ '!!': { var: 'context.f' } }, { state: 'present', value: [1, { a: null }] }), 'equal')
  assert.equal(verdict({ '==': [{ var: 'context.f' }, false] }, { state: 'present', value: false }), 'equal')
})

test('a call that people approved was held for approval, and stays so [H-49]', () => {
  const approval = { approval_id: 'apr_31', quorum: 2, digest: `sha256:${'0'.repeat(64)}`, approvers: [] }
  const approved = { decision: 'allow', approval } as const
  assert.deepEqual(answer([['requires_approval', true]], approved), { is: 'equal', decision: 'requires_approval' })
  assert.equal(answer([['requires_approval', true]], { ...approved, ...allowed })?.is, 'differs')
})

test('a call that policy did not decide, or that no policy is about, is not compared [H-49]', () => {
  const { basis: _, ...undecided } = recordedCall.record
  const set = compilePolicies([qualityRelease])
  assert.equal(shadow(set, { ...recordedCall, record: undecided as CallRecord }), undefined)
  assert.equal(shadow(set, { ...recordedCall, capabilityId: 'depot.other' }), undefined)
  const gates = [entry(1, 'gate/capability_not_found'), entry(6, 'host/blocked'), entry(6, 'gate/evidence_required')]
  for (const one of gates) assert.equal(answer([['allow', true]], { decision: 'deny', basis: [one] }), undefined)
})

test('what other gates refuse after the rules is not the rules’ answer [H-49]', () => {
  const refused = {
    decision: 'deny' as const,
    basis: [...allowed.basis, entry(10, 'gate/input_schema_validation_failed')],
  }
  assert.deepEqual(answer([['allow', true]], refused), { is: 'equal', decision: 'allow' })
  assert.equal(answer([['deny', true]], refused)?.is, 'differs')
  const silent = { decision: 'deny' as const, basis: [entry(6, 'gate/no_matching_allow')] }
  assert.deepEqual(answer([['allow', false]], silent), { is: 'equal', decision: 'deny' })
})

test('a capability that asks by its own declaration asks whatever the rules allow [H-49]', () => {
  const declared = { ...allowed, basis: [...allowed.basis, entry(8, 'declared/tier', 'requires_approval')] }
  assert.deepEqual(answer([['allow', true]], declared), { is: 'equal', decision: 'requires_approval' })
  assert.equal(answer([['deny', true]], declared)?.is, 'differs')
  const refused = { ...declared, basis: [entry(6, 'old/no'), ...declared.basis] }
  assert.deepEqual(answer([['allow', true]], refused), {
    is: 'differs',
    from: 'deny',
    to: 'requires_approval',
    rule: 'declared/tier',
  })
  const set = compilePolicies([{ name: 'next', version: '1', applies_to: ['*'], rules: [] }])
  assert.deepEqual(shadow(set, { ...recordedCall, asks: true }), {
    is: 'differs',
    from: 'requires_approval',
    to: 'deny',
    rule: null,
  })
})

test('what was decided is shown as it is on record, also where the capability asks only since then [H-49]', () => {
  const ran = { ...recordedCall, record: { ...recordedCall.record, ...allowed }, asks: true }
  const said = (decision: PolicyDecision, when: Json = true) =>
    shadow(
      compilePolicies([{ name: 'next', version: '1', applies_to: ['*'], rules: [{ id: 'r', when, decision }] }]),
      ran,
    )
  assert.deepEqual(said('allow'), { is: 'equal', decision: 'allow' })
  assert.deepEqual(said('deny'), { is: 'differs', from: 'allow', to: 'deny', rule: 'next/r' })
  assert.deepEqual(said('allow', consignee), { is: 'needs', from: 'allow', fields: ['context.consignee'] })
})

test('a rule that divides by what was not kept may have failed, and then denied [H-49]', () => {
  const divides: Json = { '==': [{ '%': [7, { var: 'context.f' }] }, 1] }
  const hidden = [{ name: 'f', source: 'payload:/f', state: 'present', sensitive: true }]
  const record = { ...allowed, context: hidden as never } as const
  assert.equal(
    answer(
      [
        ['allow', divides],
        ['allow', true],
      ],
      record,
    )?.is,
    'needs',
  )
  assert.equal(
    answer(
      [
        ['allow', { '>': [{ var: 'context.f' }, 1] }],
        ['allow', true],
      ],
      record,
    )?.is,
    'equal',
  )
})

test('a whole record decides as the facts did, and with fields withheld never otherwise than they could [H-49]', () => {
  fc.assert(
    fc.property(
      policies({ typed: true }),
      facts,
      fc.subarray(['count', 'word', 'flag', 'rows']),
      (given, known, hidden) => {
        const set = compilePolicies(given.map((policy) => ({ ...policy, applies_to: ['*'] })))
        const { context = {}, purpose } = known as { context?: Facts; purpose?: string }
        const fields = ['count', 'size', 'word', 'name', 'flag', 'list', 'rows', 'deep', 'gone']
        const entries = fields.map((name) => entryOf(name, context[name], hidden.includes(name)))
        const record = {
          ...recordedCall.record,
          context: [...entries, { ...entryOf('p', purpose, false), source: 'metadata:/purpose' }],
        }
        const timestamp = String(known['now'] ?? '2026-01-01T00:00:00.000Z')
        const { decision } = decide(set, capability, { ...known, now: timestamp })
        const found = shadow(set, { capabilityId: capability, timestamp, record: record as CallRecord })
        const fractions = /\.5/.test(JSON.stringify(known))
        if (given.length === 0 || fractions) return
        if (found?.is === 'needs') assert(hidden.length > 0)
        else assert.equal(found?.is === 'equal' ? found.decision : found?.to, decision)
      },
    ),
    { numRuns: 1_000 },
  )
})

const entryOf = (name: string, value: Json | undefined, hidden: boolean) => ({
  name,
  source: `payload:/${name}`,
  state: value === undefined ? 'absent' : 'present',
  sensitive: hidden,
  ...(value !== undefined && !hidden && { value }),
})

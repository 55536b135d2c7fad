import assert from 'node:assert/strict'
import { test } from 'vitest'
import { batchContract, capability, qualityRelease } from '../../test/support/policy-example.ts'
import type { Json } from '../base/canonical.ts'
import type { Policy } from '../model/policy.ts'
import { checkAgainstContract, compilePolicies } from './policies.ts'

const contracts = new Map([[capability, batchContract]])
const reading = (when: Json, applies_to: string[] = [capability]): Policy => ({
  name: 'p',
  version: '1',
  applies_to,
  rules: [
    { id: 'first', when: true, decision: 'allow' },
    { id: 'second', when, decision: 'deny' },
  ],
})

test('a rule that reads a field its capability does not declare does not load [H-09]', () => {
  const bad = reading({ '>': [{ var: 'context.temperature' }, 8] })
  const refusal = {
    code: 'policy.invalid',
    message: 'rule `second` reads `context.` field `temperature`, which `depot.release_batch` does not declare',
    data: { pointer: '/rules/1/when' },
    help: 'declare the field in the context contract, or read another',
  }
  assert.throws(() => checkAgainstContract(bad, contracts), refusal)
  assert.throws(() => compilePolicies([qualityRelease, bad], contracts), refusal)
  compilePolicies([bad])
  checkAgainstContract(qualityRelease, contracts)
  assert.equal(compilePolicies([qualityRelease], contracts).policies.length, 1)
})

test('a field is declared by its name alone, and only for the capabilities a policy applies to [H-09]', () => {
  checkAgainstContract(reading({ '!': { var: 'context.purpose.detail' } }), contracts)
  checkAgainstContract(reading({ '!': { var: 'subject.temperature' } }), contracts)
  checkAgainstContract(reading({ '!': { var: 'context.temperature' } }, ['depot.other', 'desk.*']), contracts)
  for (const path of ['context', 'context.toString', 'context.Purpose'])
    assert.throws(() => checkAgainstContract(reading({ '!': { var: path } }, ['depot.*']), contracts), {
      code: 'policy.invalid',
    })
  assert.throws(() => checkAgainstContract(reading({ '!': { missing: ['context.gone'] } }), contracts), /`gone`/)
})

test('a capability without a context contract has no field that a rule could read [H-09]', () => {
  const none = new Map([[capability, null]])
  assert.throws(() => checkAgainstContract(qualityRelease, none), { code: 'policy.invalid' })
  checkAgainstContract(reading({ '==': [{ var: 'environment' }, 'dev'] }), none)
})

test('a contract that names a policy which does not exist does not load [H-09]', () => {
  assert.throws(() => compilePolicies([], contracts), {
    code: 'policy.invalid',
    message: '`depot.release_batch`: policy `quality_release` is said to read `excursion_minutes` and does not exist',
    data: { pointer: '/fields/excursion_minutes/read_by/0' },
  })
  compilePolicies([], new Map([[capability, null]]))
})

test('a rule reads the facts of the call and never the raw payload [H-09 H-35]', () => {
  for (const path of ['payload.minutes', 'contxt.minutes', 'metadata.purpose'])
    assert.throws(() => compilePolicies([reading({ '!': { var: path } })]), {
      code: 'policy.invalid',
      data: { pointer: '/rules/1/when/!/var' },
      message: /is no fact that a rule reads/,
    })
})

test('a policy with two rules of one name, or with approval terms and no approval, does not load [H-35]', () => {
  const [first] = qualityRelease.rules
  assert(first !== undefined)
  const refuses = (rules: Policy['rules'], pointer: string) =>
    assert.throws(() => compilePolicies([{ ...qualityRelease, rules }]), { code: 'policy.invalid', data: { pointer } })
  refuses([first, first], '/rules/1/id')
  refuses([{ ...first, approval: { quorum: 2 } }], '/rules/0/approval')
  assert.throws(() => compilePolicies([qualityRelease, { ...qualityRelease, version: '4' }]), {
    code: 'policy.invalid',
    message: 'there are two policies `quality_release`',
  })
})

test('a failure that is not about the policy is not taken for a denial [H-35]', () => {
  const hostile = { ...qualityRelease, rules: [null] } as unknown as Policy
  assert.throws(() => compilePolicies([hostile], undefined, { invalid: 'deny' }), TypeError)
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Policy } from '../model/policy.ts'
import type { Facts } from './conditions/values.ts'
import { decide, isAlwaysDenied } from './decide.ts'
import { compilePolicies } from './policies.ts'

type Rule = Policy['rules'][number]

const policy = (rules: readonly Omit<Rule, 'id'>[], more: Partial<Policy> = {}): Policy => ({
  name: 'p',
  version: '1',
  applies_to: ['a.*'],
  rules: rules.map((rule, index) => ({ id: `r${index}`, ...rule })),
  ...more,
})

const alwaysDenied = (given: Policy | undefined, subject: object = { id: 'ida', roles: ['lead'] }): boolean =>
  isAlwaysDenied(compilePolicies(given === undefined ? [] : [given], [['a.x', null]]), 'a.x', {
    subject: subject as never,
    capability: { id: 'a.x', risk: 'high' },
  })

const isIda = { '==': [{ var: 'subject.id' }, 'ida'] }
const inTest = { '==': [{ var: 'environment' }, 'test'] }

test('a rule that surely refuses, and the lack of one that may allow, always deny; all else is open [H-68]', () => {
  assert.equal(alwaysDenied(undefined), false)
  assert.equal(alwaysDenied(policy([{ when: true, decision: 'deny' }])), true)
  assert.equal(alwaysDenied(policy([{ when: true, decision: 'allow' }])), false)
  assert.equal(alwaysDenied(policy([{ when: true, decision: 'requires_approval' }])), false)
  assert.equal(
    alwaysDenied(
      policy([
        { when: isIda, decision: 'deny' },
        { when: true, decision: 'allow' },
      ]),
    ),
    true,
  )
  assert.equal(alwaysDenied(policy([{ when: isIda, decision: 'allow' }]), { id: 'jo' }), true)
  assert.equal(
    alwaysDenied(
      policy([
        { when: inTest, decision: 'deny' },
        { when: true, decision: 'allow' },
      ]),
    ),
    false,
  )
  assert.equal(alwaysDenied(policy([{ when: inTest, decision: 'allow' }])), false)
  assert.equal(alwaysDenied(policy([{ when: true, decision: 'deny' }], { mode: 'audit_only' } as never)), false)
})

test('what is alwaysDenied is refused, whatever the call is like [H-68]', () => {
  const when = fc.constantFrom(true, false, isIda, inTest, { and: [isIda, inTest] }, { '!': [inTest] })
  const decision = fc.constantFrom('allow', 'deny', 'requires_approval', 'requires_escalation') as fc.Arbitrary<never>
  const rules = fc.array(fc.record({ when, decision }), { minLength: 1, maxLength: 5 })
  const environments = ['test', 'prod', undefined]
  let seen = 0
  fc.assert(
    fc.property(rules, fc.constantFrom('ida', 'jo'), (given, id) => {
      const set = compilePolicies([policy(given)], [['a.x', null]])
      const facts = { subject: { id }, capability: { id: 'a.x' } }
      if (!isAlwaysDenied(set, 'a.x', facts)) return
      seen++
      for (const environment of environments)
        assert.equal(decide(set, 'a.x', { ...facts, environment } as Facts).decision, 'deny')
    }),
  )
  assert(seen > 5)
})

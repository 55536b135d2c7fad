import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import {
  capabilities,
  conditions,
  facts,
  policies,
  wholeFacts,
  wildFacts,
} from '../../test/support/policy-arbitrary.ts'
import { batchFacts, capability, qualityRelease } from '../../test/support/policy-example.ts'
import { referenceRuling } from '../../test/support/policy-reference.ts'
import type { Json } from '../base/canonical.ts'
import type { PolicyDecision } from '../model/evidence.ts'
import type { ApprovalTerms, Policy } from '../model/policy.ts'
import type { Facts } from './conditions/values.ts'
import { decide } from './decide.ts'
import { compilePolicies } from './policies.ts'

type Rule = readonly [decision: PolicyDecision, when: Json, approval?: ApprovalTerms]

const policyOf = (name: string, rules: readonly Rule[], more: Partial<Policy> = {}): Policy => ({
  name,
  version: '1',
  applies_to: ['x.do'],
  rules: rules.map(([decision, when, approval], index) => ({
    id: `r${index}`,
    when,
    decision,
    ...(approval && { approval }),
  })),
  ...more,
})
const ruling = (given: readonly Policy[], context: Facts = {}) => decide(compilePolicies(given), 'x.do', { context })
const decision = (...rules: readonly Rule[]) => ruling([policyOf('p', rules)]).decision

const absent: Json = { '>': [{ var: 'context.gone' }, 0] }
const faulty: Json = { '>': [{ var: 'context.word' }, 0] }
const word = { word: 'a' }

test('one capability is allowed, refused or held for approval as the situation of the call is [H-17]', () => {
  const set = compilePolicies([qualityRelease])
  assert.equal(decide(set, capability, batchFacts(0, 'routine')).decision, 'allow')
  assert.equal(decide(set, capability, batchFacts(14, 'routine')).decision, 'deny')
  assert.equal(decide(set, capability, batchFacts(14, 'shortage')).decision, 'requires_approval')
})

test('one capability is allowed to one caller and refused to the next, and so for a purpose, a place, a time [H-17]', () => {
  const rules: readonly Rule[] = [
    ['allow', { in: ['buyer', { var: 'subject.roles' }] }],
    ['deny', { '==': [{ var: 'purpose' }, 'test'] }],
    ['deny', { '==': [{ var: 'environment' }, 'dev'] }],
    ['deny', { '<': [{ var: 'now' }, '2026-01-01'] }],
    ['deny', { '!': { '==': [{ var: 'actor.type' }, 'agent'] } }],
  ]
  const set = compilePolicies([policyOf('p', rules)])
  const call = {
    subject: { id: 'ida', roles: ['buyer'] },
    actor: { id: 'a', type: 'agent' },
    purpose: 'stock',
    environment: 'prod',
    now: '2026-06-16T15:00:00.000Z',
  }
  const changed = (change: Facts) => decide(set, 'x.do', { ...call, ...change }).decision
  assert.equal(changed({}), 'allow')
  assert.equal(changed({ subject: { id: 'kim', roles: ['viewer'] } }), 'deny')
  assert.equal(changed({ purpose: 'test' }), 'deny')
  assert.equal(changed({ environment: 'dev' }), 'deny')
  assert.equal(changed({ now: '2025-06-16T15:00:00.000Z' }), 'deny')
  assert.equal(changed({ actor: null }), 'deny')
})

test('a ruling is what the call record needs: the rules that held, what they read, the policy and its hash [H-35 H-17]', () => {
  const hash = 'sha256:dd40e84c656ec6639cc007c05405ffa0b04381fd0909d6831320acd65e9c1783'
  const policy = { name: 'quality_release', version: '3', hash }
  assert.deepEqual(decide(compilePolicies([qualityRelease]), capability, batchFacts(14, 'shortage')), {
    decision: 'requires_approval',
    applies: true,
    matched: [
      {
        policy: 'quality_release',
        rule: 'quality_release/excursion',
        effect: 'requires_approval',
        reads: ['excursion_minutes'],
      },
    ],
    policies: [policy],
    policy,
    rule: 'quality_release/excursion',
    approval: [{ roles: ['responsible_pharmacist'], quorum: 2, expires_in_s: 7200 }],
    reason: null,
    audited: null,
  })
})

test('the facts a rule read are named as people know them: context fields by name, others by path [H-35]', () => {
  const when: Json = {
    and: [
      { '!': { var: 'context.site.country' } },
      { '!': { var: 'context.site.city' } },
      { '!': { var: 'subject.owner' } },
      { '!': { var: 'context' } },
    ],
  }
  const { matched } = decide(compilePolicies([policyOf('p', [['allow', when]])]), 'x.do', {})
  assert.deepEqual(matched[0]?.reads, ['context', 'site', 'subject.owner'])
})

test('where no policy names the capability it is deny, and the ruling says that none was asked [H-35]', () => {
  const set = compilePolicies([policyOf('p', [['allow', true]])])
  const { decision, applies, reason, policies, policy, rule } = decide(set, 'x.other', {})
  assert.deepEqual(
    { decision, applies, reason, policies, policy, rule },
    {
      decision: 'deny',
      applies: false,
      reason: 'no_matching_allow',
      policies: [],
      policy: null,
      rule: null,
    },
  )
  assert.equal(decide(compilePolicies([]), 'x.do', {}).decision, 'deny')
})

test('where no rule holds it is deny, in the name of the only policy there is [H-35]', () => {
  const silent = ruling([policyOf('p', [['allow', false]])])
  assert.deepEqual(
    [silent.decision, silent.applies, silent.reason, silent.rule],
    ['deny', true, 'no_matching_allow', null],
  )
  assert.equal(silent.policy?.name, 'p')
  assert.equal(ruling([policyOf('p', [])]).decision, 'deny')
  assert.equal(ruling([policyOf('p', []), policyOf('q', [])]).policy, null)
})

test('a policy applies to ids it names and to those that begin as it says [H-35]', () => {
  const applies = (applies_to: string[], id: string) =>
    decide(compilePolicies([policyOf('p', [['allow', true]], { applies_to })]), id, {}).applies
  assert.deepEqual(
    ['a.b', 'a.bc', 'a', 'b.a.b'].map((id) => applies(['a.b'], id)),
    [true, false, false, false],
  )
  assert.deepEqual(
    ['a.b', 'a.', 'a', 'ab'].map((id) => applies(['z', 'a.*'], id)),
    [true, true, false, false],
  )
  assert(applies(['*'], 'anything'))
})

test('the strictest rule wins, and a rule that does not hold has no say [H-35]', () => {
  const order = [
    'deny',
    'sandbox_only',
    'requires_escalation',
    'requires_more_evidence',
    'requires_approval',
    'allow',
  ] as const
  for (const [index, strictest] of order.entries()) {
    const rest = order.slice(index).map((word): Rule => [word, true])
    assert.equal(decision(...rest), strictest)
    assert.equal(decision(...rest.toReversed()), strictest)
    assert.equal(decision(['deny', false], ...rest), strictest)
  }
})

test('over absent facts an allow does not count, and everything else does [H-35]', () => {
  assert.equal(decision(['allow', absent]), 'deny')
  assert.equal(decision(['allow', true], ['deny', absent]), 'deny')
  assert.equal(decision(['allow', true], ['requires_approval', absent]), 'requires_approval')
  const { matched, rule, error } = ruling([
    policyOf('p', [
      ['allow', absent],
      ['sandbox_only', absent],
    ]),
  ])
  assert.deepEqual(matched, [{ policy: 'p', rule: 'p/r1', effect: 'sandbox_only', reads: ['gone'], undecided: true }])
  assert.deepEqual([rule, error], ['p/r1', undefined])
})

test('a rule that cannot be evaluated denies, whatever the others say, and is named [H-35]', () => {
  const broken = ruling(
    [
      policyOf('p', [
        ['allow', true],
        ['allow', faulty],
      ]),
    ],
    word,
  )
  assert.deepEqual([broken.decision, broken.reason, broken.rule, broken.error], ['deny', 'policy_error', 'p/r1', true])
  assert.equal(broken.policy?.name, 'p')
  assert.deepEqual(broken.matched[1], { policy: 'p', rule: 'p/r1', effect: 'deny', reads: ['word'], error: true })
  const beside = ruling(
    [
      policyOf('p', [
        ['deny', true],
        ['requires_approval', faulty],
      ]),
    ],
    word,
  )
  assert.deepEqual([beside.reason, beside.rule, beside.approval], ['policy_error', 'p/r1', []])
})

test('a policy with an unknown operator can be kept, and denies all it applies to [H-35 R-77]', () => {
  const bad = policyOf('p', [['allow', { nope: [1] }]])
  assert.throws(() => compilePolicies([bad]), { code: 'policy.invalid', data: { pointer: '/rules/0/when/nope' } })
  const set = compilePolicies([bad, policyOf('q', [['allow', true]], { applies_to: ['*'] })], undefined, {
    invalid: 'deny',
  })
  const denied = decide(set, 'x.do', {})
  assert.deepEqual(
    [denied.decision, denied.reason, denied.rule, denied.error],
    ['deny', 'policy_error', 'p/invalid', true],
  )
  assert.equal(decide(set, 'x.other', {}).decision, 'allow')
})

test('an audit-only policy is evaluated and recorded, and neither blocks nor allows [H-36]', () => {
  const audit = (...rules: readonly Rule[]) => policyOf('trial', rules, { mode: 'audit_only' })
  const live = policyOf('live', [['allow', true]])
  const blocked = ruling([live, audit(['deny', true], ['requires_approval', absent], ['allow', true])])
  assert.deepEqual(
    [blocked.decision, blocked.rule, blocked.audited, blocked.applies],
    ['allow', 'live/r0', 'deny', true],
  )
  assert.deepEqual(
    blocked.matched.map(({ rule, effect }) => [rule, effect]),
    [
      ['trial/r0', 'would_deny'],
      ['trial/r1', 'would_requires_approval'],
      ['live/r0', 'allow'],
      ['trial/r2', 'would_allow'],
    ],
  )
  assert.deepEqual(
    blocked.policies.map(({ name }) => name),
    ['live', 'trial'],
  )
  const faults = ruling([live, audit(['allow', faulty])], word)
  assert.deepEqual([faults.decision, faults.error, faults.audited], ['allow', undefined, 'deny'])
  assert.deepEqual(faults.matched.find(({ policy }) => policy === 'trial')?.effect, 'would_deny')
})

test('an audit-only policy alone leaves the call to what is declared, and records that it would deny [H-36]', () => {
  const alone = ruling([policyOf('trial', [['allow', false]], { mode: 'audit_only' })])
  assert.deepEqual([alone.applies, alone.audited, alone.policy, alone.rule], [false, 'deny', null, null])
  assert.deepEqual(alone.matched, [
    { policy: 'trial', rule: 'trial/no_matching_allow', effect: 'would_deny', reads: [] },
  ])
  const allows = ruling([policyOf('trial', [['allow', true]], { mode: 'audit_only' })])
  assert.deepEqual([allows.decision, allows.applies, allows.audited], ['deny', false, 'allow'])
  assert.equal(ruling([policyOf('p', [['allow', true]], { mode: 'enforce' })]).audited, null)
})

test('each rule that asks keeps its own terms, and the same people are asked once [H-35]', () => {
  const terms = (...given: readonly (ApprovalTerms | undefined)[]) =>
    ruling([
      policyOf(
        'p',
        given.map((term): Rule => (term ? ['requires_approval', true, term] : ['requires_approval', true])),
      ),
    ]).approval
  assert.deepEqual(
    terms(
      { roles: ['b', 'a'], quorum: 2, expires_in_s: 600 },
      { roles: ['a'], approvers: ['ida'], quorum: 3, expires_in_s: 60 },
    ),
    [
      { roles: ['a', 'b'], quorum: 2, expires_in_s: 600 },
      { roles: ['a'], approvers: ['ida'], quorum: 3, expires_in_s: 60 },
    ],
  )
  assert.deepEqual(terms({ roles: ['b', 'a'] }, { roles: ['c'] }, { roles: ['a', 'b'], quorum: 2 }), [
    { roles: ['a', 'b'], quorum: 2 },
    { roles: ['c'] },
  ])
  assert.deepEqual(terms({ roles: ['a'] }, { approvers: ['a'] }), [{ roles: ['a'] }, { approvers: ['a'] }])
  assert.deepEqual(terms({ expires_in_s: 7200 }, undefined), [{ expires_in_s: 900 }])
  assert.deepEqual(terms({ expires_in_s: 60 }, {}), [{ expires_in_s: 60 }])
  assert.deepEqual(terms(undefined), [{}])
  assert.deepEqual(terms({ bind: 'protocol' }, { bind: 'protocol' }), [{ bind: 'protocol' }])
  assert.deepEqual(terms({ bind: 'protocol' }, {}), [{}])
  assert.deepEqual(
    ruling([
      policyOf('p', [
        ['requires_approval', true, { quorum: 2 }],
        ['deny', true],
      ]),
    ]).approval,
    [],
  )
  const audit = policyOf('q', [['requires_approval', true, { quorum: 9 }]], { mode: 'audit_only' })
  assert.deepEqual(ruling([policyOf('p', [['requires_approval', true, { quorum: 2 }]]), audit]).approval, [
    { quorum: 2 },
  ])
})

const anyFacts = fc.oneof(facts, wildFacts)

test('rulings agree with the slow reference on random policies and facts [H-35]', () => {
  fc.assert(
    fc.property(policies(), capabilities, anyFacts, (given, id, known) => {
      const ours = decide(compilePolicies(given), id, known)
      const matched = ours.matched.map(({ rule }) => rule).sort()
      assert.deepEqual(
        { decision: ours.decision, error: ours.error ?? false, matched },
        referenceRuling(given, id, known),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('rulings do not depend on the order of rules or policies, nor on what was asked before [H-35]', () => {
  fc.assert(
    fc.property(policies(), capabilities, anyFacts, (given, id, known) => {
      const set = compilePolicies(given)
      const turned = given.toReversed().map((policy) => ({ ...policy, rules: policy.rules.toReversed() }))
      const hashless = (value: unknown) => JSON.stringify(value).replaceAll(/sha256:[0-9a-f]+/g, '')
      assert.equal(hashless(decide(set, id, known)), hashless(decide(compilePolicies(turned), id, known)))
      assert.deepEqual(decide(set, id, known), decide(set, id, known))
    }),
  )
})

test('rulings allow nothing without a rule that allows and holds [H-35]', () => {
  fc.assert(
    fc.property(policies({ typed: true }), capabilities, facts, (given, id, known) => {
      const { decision, matched } = decide(compilePolicies(given), id, known)
      if (decision !== 'allow') return
      assert(matched.every(({ effect, undecided }) => effect === 'allow' && undecided === undefined))
      const stripped = given.map((policy) => ({
        ...policy,
        rules: policy.rules.filter((rule) => rule.decision !== 'allow'),
      }))
      assert.equal(decide(compilePolicies(stripped), id, known).decision, 'deny')
    }),
  )
})

test('rulings only get stricter when a deny is added, and a deny that holds wins [H-35]', () => {
  fc.assert(
    fc.property(policies(), capabilities, anyFacts, conditions({}, 2), (given, id, known, when) => {
      const deny = policyOf('added', [['deny', when]], { applies_to: ['*'] })
      const before = decide(compilePolicies(given), id, known).decision
      const after = decide(compilePolicies([...given, deny]), id, known).decision
      assert(after === 'deny' || after === before, `${before} → ${after}`)
      const forbid = policyOf('added', [['deny', true]], { applies_to: ['*'] })
      assert.equal(decide(compilePolicies([...given, forbid]), id, known).decision, 'deny')
    }),
  )
})

test('rulings that deny with all facts known do not allow when facts are withheld [H-35]', () => {
  fc.assert(
    fc.property(
      policies({ typed: true, trusting: true }),
      capabilities,
      wholeFacts,
      fc.subarray(['count', 'size', 'word', 'name', 'flag', 'list', 'rows', 'deep', 'gone']),
      (given, id, known, withheld) => {
        const set = compilePolicies(given)
        const all = decide(set, id, known)
        if (all.decision !== 'deny' || all.error) return
        const context = Object.entries(known['context'] as Facts).filter(([name]) => !withheld.includes(name))
        assert.notEqual(decide(set, id, { ...known, context: Object.fromEntries(context) }).decision, 'allow')
      },
    ),
    { numRuns: 1_000 },
  )
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import { inScope } from '../../model/text.ts'
import type { Risk } from '../risk.ts'
import { type BoundaryFacts, boundary, effectiveRisk, isRun } from './boundary.ts'
import {
  callMode,
  context,
  enabled,
  fraction,
  hasFraction,
  invariants,
  isCallable,
  keyScope,
  type Rights,
  resolveCapability,
  rights,
} from './checks.ts'
import { gateNumbers, refuse } from './refusal.ts'

const descriptor = (more: Partial<CapabilityDescriptor> = {}): CapabilityDescriptor => ({
  id: 'depot.release',
  version: '1.0.0',
  description: 'Releases a batch.',
  modes: ['sync'],
  emits: [],
  policy: {},
  ...more,
})

const asked = { capabilityId: 'depot.release', version: null, range: undefined, mode: 'sync', scopes: [] }

test('a key without scopes opens everything, one with scopes those alone [H-24]', () => {
  assert.equal(keyScope(asked), undefined)
  assert.equal(keyScope({ ...asked, scopes: ['x', 'depot.*'] }), undefined)
  const refusal = keyScope({ ...asked, scopes: ['depot.rel', 'depot.release.*'] })
  assert.deepEqual([refusal?.gate, refusal?.denial.code], ['key_scope', 'policy_blocked'])
  assert.equal(refusal?.denial.details?.['reason'], 'key_scope')
})

test('a scope is an id, or a beginning of ids with a star [H-24]', () => {
  assert.deepEqual(
    ['depot.release', 'depot.*', '*', 'depot.release*', 'depot', 'depot.release.x', ''].map((scope) =>
      inScope(scope, 'depot.release'),
    ),
    [true, true, true, true, false, false, false],
  )
})

test('a blank or unknown id is not found at gate 1, an unknown exact version at gate 2 [H-26]', () => {
  const refusal = (wish: Partial<typeof asked>, available: string[]) => {
    const found = resolveCapability({ ...asked, ...wish } as never, available)
    return 'refusal' in found ? [found.refusal.gate, found.refusal.denial.code] : found.version
  }
  assert.deepEqual(refusal({ capabilityId: '  ' }, ['1.0.0']), ['capability', 'capability_not_found'])
  assert.deepEqual(refusal({}, []), ['capability', 'capability_not_found'])
  assert.deepEqual(refusal({ version: '2.0.0' } as never, ['1.0.0']), ['version', 'capability_not_found'])
  assert.deepEqual(refusal({}, ['1.0.0', '2.0.0']), ['version', 'capability_version_unsupported'])
  assert.equal(refusal({}, ['1.0.0']), '1.0.0')
  assert.equal(refusal({ range: '^1.0.0' } as never, ['1.0.0', '1.2.0', '2.0.0']), '1.2.0')
})

test('a version that does not fit is refused with what was asked and what there is [H-26]', () => {
  const found = resolveCapability({ ...asked, range: '^3.0.0' }, ['1.0.0', '2.0.0'])
  assert('refusal' in found)
  assert.deepEqual(found.refusal.denial.details, { requested: '^3.0.0', available: ['1.0.0', '2.0.0'] })
})

test.each([
  ['declared', false],
  ['hosted', false],
  ['discoverable', false],
  ['unavailable', false],
  ['invokable', true],
  ['verified', true],
  ['deprecated', true],
  ['restricted', true],
  ['blocked', true],
] as const)('gate 3 and discovery read one value: %s is callable: %s [H-25]', (lifecycle, callable) => {
  assert.equal(isCallable(lifecycle), callable)
  const refusal = enabled({ lifecycle, retryAfterS: 5 })
  assert.deepEqual(
    refusal && [refusal.gate, refusal.outcome, refusal.denial.code, refusal.denial.details],
    callable ? undefined : ['enabled', 'skipped', 'capability_disabled', { lifecycle, retry_after_s: 5 }],
  )
})

test('a mode that is not listed, or no mode at all, is unsupported [H-27]', () => {
  assert.equal(callMode({ mode: 'sync', descriptor: descriptor() }), undefined)
  for (const mode of ['async', 'stream', 'SYNC', '', 'sideways']) {
    const refusal = callMode({ mode, descriptor: descriptor() })
    assert.deepEqual([refusal?.gate, refusal?.outcome, refusal?.denial.code], ['mode', 'denied', 'unsupported_mode'])
  }
})

const facts = (more: Partial<Rights> = {}): Rights => ({
  descriptor: descriptor({
    policy: { auth_required: true, allowed_actors: ['planner'] },
    metadata: { required_permissions: ['stock:release', 'stock:read'] },
  }),
  caller: { subject: { id: 'planner', verified: true }, actor: null },
  permissions: ['stock:release', 'stock:read'],
  revokedPermissions: [],
  unverifiedActors: 'refuse',
  ...more,
})

test.each([
  ['a verified caller with every permission', {}, undefined],
  [
    'an unverified caller',
    { caller: { subject: { id: 'planner', verified: false }, actor: null } },
    ['entitlement_denied', undefined],
  ],
  ['a caller without a permission', { permissions: ['stock:release'] }, ['entitlement_denied', 'stock:read']],
  [
    'a caller whose permission was taken back',
    { permissions: ['stock:read'], revokedPermissions: ['stock:release'] },
    ['entitlement_revoked', 'stock:release'],
  ],
  ['a caller who got it again', { revokedPermissions: ['stock:release'] }, undefined],
  [
    'a verified caller who is not on the list, whatever actor it names',
    { caller: { subject: { id: 'clerk', verified: true }, actor: { id: 'planner' } } },
    ['entitlement_denied', undefined],
  ],
] as [string, Partial<Rights>, unknown][])('%s at gate 5b [H-20 H-31 H-34]', (_, more, expected) => {
  const refusal = rights(facts(more))
  const { reason, right } = refusal?.denial.details ?? {}
  assert.deepEqual(refusal && [reason, right], expected)
  if (refusal) assert.deepEqual([refusal.gate, refusal.denial.code], ['rights', 'policy_blocked'])
})

test('no unverified caller has a permission, even where no verified caller is demanded [H-34]', () => {
  const open = descriptor({ policy: {}, metadata: { required_permissions: ['stock:read'] } })
  const caller = { subject: { id: 'x', verified: false }, actor: null }
  const refusal = rights(facts({ descriptor: open, caller, revokedPermissions: ['stock:read'] }))
  assert.equal(refusal?.denial.details?.['reason'], 'entitlement_denied')
})

test('a list of actors believes an unverified identity only where the host says so [H-31]', () => {
  const listed = descriptor({ policy: { allowed_actors: ['planner'] } })
  const caller = { subject: { id: 'anonymous', verified: false }, actor: { id: 'planner' } }
  assert.notEqual(rights(facts({ descriptor: listed, caller })), undefined)
  assert.equal(rights(facts({ descriptor: listed, caller, unverifiedActors: 'accept' })), undefined)
})

const within = (more: Partial<BoundaryFacts> = {}, rules: Partial<BoundaryFacts['rules']> = {}): BoundaryFacts => ({
  rules: { hostId: 'depot', blocked: [], maxRisk: 'critical', patterns: [], ...rules },
  descriptor: descriptor(),
  lifecycle: 'invokable',
  payload: { note: 'drop the batch' },
  audience: undefined,
  environment: 'prod',
  ...more,
})

const violations: [string, Partial<BoundaryFacts>, Partial<BoundaryFacts['rules']>, string][] = [
  ['allow-list', {}, { allow: ['other.*'] }, 'host/allow'],
  ['block-list', {}, { blocked: ['depot.*'] }, 'host/blocked'],
  ['risk cap', { descriptor: descriptor({ risk: 'critical' }) }, { maxRisk: 'high' }, 'host/max_risk'],
  ['pattern', {}, { patterns: [{ capability_id: 'depot.release', field: 'note', pattern: 'DROP' }] }, 'host/pattern'],
  ['audience', { audience: 'elsewhere' }, {}, 'audience_mismatch'],
  ['environment', { environment: 'test' }, { environment: 'prod' }, 'host/environment'],
]

test('gate 6 asks the host in order: lists, risk, patterns, audience, environment; the first answers [H-21 H-32]', () => {
  for (const [first, [, more, rules, expected]] of violations.entries())
    for (const [, laterMore, laterRules] of violations.slice(first)) {
      const refusal = boundary(within({ ...laterMore, ...more }, { ...laterRules, ...rules }))
      const { matched_rule, reason } = refusal?.denial.details ?? {}
      assert.equal(matched_rule ?? reason, expected)
      assert.deepEqual([refusal?.gate, refusal?.denial.code], ['policy', 'policy_blocked'])
    }
  assert.equal(boundary(within({ audience: 'depot' }, { environment: 'prod', allow: ['depot.*'] })), undefined)
})

test.each([7, null, ['depot'], {}, ''])('an audience that is %j is not this host [H-21]', (audience) => {
  assert.equal(boundary(within({ audience: audience as never }))?.denial.details?.['reason'], 'audience_mismatch')
})

test('a host with an environment takes no call without one [H-21]', () => {
  assert.notEqual(boundary(within({ environment: undefined }, { environment: 'prod' })), undefined)
})

test('a capability whose lifecycle is blocked is refused like one on the list [H-34]', () => {
  assert.equal(boundary(within({ lifecycle: 'blocked' }))?.denial.details?.['matched_rule'], 'host/blocked')
})

test('a capability runs if it is listed and not blocked [H-34]', () => {
  const rules = within().rules
  assert.deepEqual(
    [{}, { allow: ['depot.*'] }, { allow: ['x'] }, { blocked: ['depot.release'] }].map((more) =>
      isRun({ ...rules, ...more }, 'depot.release'),
    ),
    [true, true, false, false],
  )
})

test.each([
  ['deny', 'policy_blocked'],
  ['requires_escalation', 'escalation_required'],
  ['requires_more_evidence', 'evidence_required'],
  ['sandbox_only', 'policy_blocked'],
  ['allow', undefined],
  ['requires_approval', undefined],
] as const)('a block pattern that decides %s answers %s here [H-32 H-33]', (decision, code) => {
  const patterns = [{ capability_id: 'depot.release', field: 'note', pattern: 'batch$', decision }]
  assert.equal(boundary(within({}, { patterns }))?.denial.code, code)
})

const order: readonly Risk[] = ['low', 'medium', 'high', 'critical']
const anyRisk = fc.option(fc.constantFrom(...order), { nil: undefined })

test('the effective risk is the higher of the two, medium if neither is said; above the cap is deny [H-32]', () => {
  fc.assert(
    fc.property(anyRisk, anyRisk, fc.constantFrom(...order), (risk, risk_tier, maxRisk) => {
      const made = descriptor({ ...(risk && { risk }), policy: { ...(risk_tier && { risk_tier }) } })
      const ranks = [risk, risk_tier].filter((each) => each !== undefined).map((each) => order.indexOf(each))
      const expected = ranks.length === 0 ? 1 : Math.max(...ranks)
      assert.equal(effectiveRisk(made), order[expected])
      const refusal = boundary(within({ descriptor: made }, { maxRisk }))
      assert.equal(refusal === undefined, expected <= order.indexOf(maxRisk))
    }),
  )
})

const nothing = { value: {}, fields: [], missing: [], problems: [], undeclared: [] }

test('the contract is answered in order: undeclared, missing, wrong; with names and places alone [H-15 H-16]', () => {
  const problems = [{ path: '/a', keyword: 'type', says: '`/a` must be a string' }]
  const answer = (more: object) => {
    const { gate, denial } = context({ context: { ...nothing, ...more } }) ?? {}
    return [gate, denial?.code, denial?.details]
  }
  assert.deepEqual(answer({}), [undefined, undefined, undefined])
  assert.deepEqual(answer({ undeclared: ['x'], missing: ['y'], problems }), [
    'policy',
    'input_schema_validation_failed',
    { part: 'context', undeclared: ['x'] },
  ])
  const [, code, details] = answer({ missing: ['y', 'z'], problems })
  assert.deepEqual([code, (details as { missing: string[] }).missing], ['evidence_required', ['y', 'z']])
  assert.deepEqual(answer({ problems }), [
    'policy',
    'input_schema_validation_failed',
    { part: 'context', path: '/a', keyword: 'type' },
  ])
})

type Invariant = NonNullable<CapabilityDescriptor['invariants']>[number]
const needsValue: Invariant = {
  id: 'needs-value',
  kind: 'required_payload_fields',
  enforcement: 'host',
  parameters: { fields: ['value'] },
}

test.each([
  ['a field that is there', needsValue, { value: null }, false],
  ['a field that is not', needsValue, {}, true],
  ['a field that is only inherited', { ...needsValue, parameters: { fields: ['toString'] } }, {}, true],
  ['a name that is no text', { ...needsValue, parameters: { fields: [7] } }, { 7: 1 }, true],
  ['no fields at all', { ...needsValue, parameters: {} }, { value: 1 }, true],
  ['a kind that the host does not know', { ...needsValue, kind: 'unknown' }, { value: 1 }, true],
  ['one that only declares', { ...needsValue, enforcement: 'declarative' }, {}, false],
  ['one without enforcement', { id: 'x', kind: 'unknown' }, {}, false],
  ['one that only warns', { ...needsValue, failure_behavior: 'warn' }, {}, false],
] as [string, Invariant, Record<string, never>, boolean][])(
  'an invariant over %s [H-37]',
  (_, invariant, payload, fails) => {
    const refusal = invariants({ descriptor: descriptor({ invariants: [invariant] }), payload })
    assert.deepEqual(
      refusal && [refusal.gate, refusal.denial.code, refusal.denial.invariant_id],
      fails ? ['invariants', 'invariant_failed', invariant.id] : undefined,
    )
  },
)

test('a capability without invariants passes, and the first that fails answers [H-37]', () => {
  assert.equal(invariants({ descriptor: descriptor(), payload: {} }), undefined)
  const two = descriptor({ invariants: [{ ...needsValue, id: 'a', parameters: { fields: [] } }, needsValue] })
  assert.equal(invariants({ descriptor: two, payload: {} })?.denial.invariant_id, 'needs-value')
})

test('a fraction is found wherever it lies [H-54]', () => {
  const hasOne = (value: unknown): boolean => {
    let found = false
    JSON.stringify(value, (_, each: unknown) => {
      found ||= typeof each === 'number' && each % 1 !== 0
      return each
    })
    return found
  }
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.equal(hasFraction(value as never), hasOne(value))))
  assert.deepEqual([fraction('policy').gate, fraction('invariants').denial.code], ['policy', 'invariant_failed'])
})

test('evidence and the wire number the gates in the order of the list [H-24]', () => {
  const numbers = ['K', 0, 1, 2, 3, 4, 5, '5b', '5b', '5b', '5b', 6, '6b', 7, 8, 8, 9, 10, '10b', 12]
  assert.deepEqual(Object.values(gateNumbers), numbers)
})

const codes = {
  true: ['approval_required', 'budget_exceeded', 'escalation_required', 'evidence_required', 'host_unreachable'],
  false: [
    ...['capability_not_found', 'capability_disabled', 'capability_version_unsupported', 'unsupported_mode'],
    ...['policy_blocked', 'input_schema_validation_failed', 'output_schema_validation_failed', 'invariant_failed'],
    ...['safety_blocked', 'mandate_invalid', 'mandate_exhausted', 'version_unsupported'],
  ],
}

test('the reserved codes are retryable as the protocol says, and only a disabled capability is skipped [H-44]', () => {
  for (const [retryable, list] of Object.entries(codes))
    for (const code of list) {
      const { denial, outcome } = refuse('policy', code, 'm', { a: 1, b: undefined })
      assert.deepEqual(denial, {
        code,
        message: 'm',
        retryable: retryable === 'true',
        details: { a: 1 },
      })
      assert.equal(outcome, code === 'capability_disabled' ? 'skipped' : 'denied')
    }
  assert.deepEqual(Object.keys(refuse('policy', 'policy_blocked', 'm').denial), ['code', 'message', 'retryable'])
})

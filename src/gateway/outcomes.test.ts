import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test, vi } from 'vitest'
import { z } from 'zod'
import { approvalIdOf, givenApprovals, payload } from '../../test/support/approvals.ts'
import { anyone, echo, givenHost, recordOf, typesOf } from '../../test/support/host.ts'
import type { Json } from '../base/canonical.ts'
import type { PolicyDecision } from '../model/evidence.ts'
import type { Policy } from '../model/policy.ts'
import { invocationResult } from '../model/wire/result.ts'
import { decide } from '../policy/decide.ts'
import { compilePolicies } from '../policy/policies.ts'
import { defineCapability } from './capability.ts'

const always = (decision: PolicyDecision, more: Partial<Policy> = {}): Policy => ({
  name: 'p',
  version: '3',
  applies_to: ['test.*'],
  rules: [{ id: 'always', when: true, decision }],
  ...more,
})

test('a call says only what it must; the rest is minted, and result and events share one correlation [H-12 H-22 H-23]', async () => {
  const { call, events } = await givenHost({ capabilities: [echo()] })
  const result = await call(anyone, { capability_id: 'test.echo' })
  assert.match(result.invocation_id, /^inv_/)
  assert.match(result.correlation.correlation_id, /^cor_/)
  assert.deepEqual([result.outcome, result.success, result.data], ['success', true, { echo: {} }])
  assert(invocationResult.safeParse(result).success)
  const own = (await events()).filter(({ invocation_id }) => invocation_id === result.invocation_id)
  assert.deepEqual(typesOf(own), ['execution_started', 'execution_completed'])
  for (const event of own) assert.deepEqual(event.correlation, result.correlation)
  assert.deepEqual(
    result.evidence_ids,
    own.map(({ event_id }) => event_id),
  )
})

test('every member of a given correlation survives, unless it is a secret by name [H-13 H-22 H-71]', async () => {
  const { call, events } = await givenHost({ capabilities: [echo()] })
  const correlation = {
    correlation_id: 'task-7',
    causation_id: 'inv-before',
    parent_correlation_id: 'task-1',
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    environment: 'prod',
    baggage: { tier: 1, room: 'cold' },
  }
  const result = await call(anyone, { capability_id: 'test.echo', correlation })
  assert.deepEqual(result.correlation, correlation)
  assert.deepEqual((await events()).at(-1)?.correlation, correlation)
  const secret = { ...correlation, baggage: { ...correlation.baggage, access_token: 'tok-123' } }
  const hidden = await call(anyone, { capability_id: 'test.echo', correlation: secret })
  assert.equal(hidden.correlation.baggage?.['access_token'], '[redacted]')
  assert.deepEqual((await events()).at(-1)?.correlation, hidden.correlation)
})

test('a verified caller replaces the asserted subject; an unknown one keeps its id and nothing else [H-19 H-20]', async () => {
  const { call, caller, events } = await givenHost({ capabilities: [echo()] })
  const planner = await caller({ id: 'planner', kind: 'agent' })
  const subject = { id: 'boss', type: 'mandate', verified: true, roles: ['admin'] }
  const envelope = { capability_id: 'test.echo', subject, actor: { id: 'boss', type: 'human' } }
  await call(planner, envelope)
  const known = (await events()).at(-1)
  assert.deepEqual([known?.subject?.id, known?.subject?.verified, known?.subject?.['roles']], ['planner', true, []])
  assert.deepEqual((recordOf(known) as { actor?: Json }).actor, { id: 'boss', type: 'human' })
  await call(anyone, envelope)
  assert.deepEqual((await events()).at(-1)?.subject, { id: 'boss', verified: false })
})

test.each([
  ['deny', 'policy_blocked', false],
  ['requires_approval', 'approval_required', true],
  ['requires_escalation', 'escalation_required', true],
  ['requires_more_evidence', 'evidence_required', true],
  ['sandbox_only', 'policy_blocked', false],
] as const)(
  'a rule that decides %s denies with %s, retryable: %s [H-33 H-44 H-48]',
  async (decision, code, retryable) => {
    const { call, events } = await givenHost({ capabilities: [echo()], policies: [always(decision)] })
    const { denial, outcome } = await call(anyone, { capability_id: 'test.echo' })
    assert.deepEqual([outcome, denial?.code, denial?.retryable], ['denied', code, retryable])
    assert.deepEqual(
      [denial?.details?.['decision'], denial?.details?.['matched_rule'], denial?.details?.['policy_version']],
      [decision, 'p/always', '3'],
    )
    const record = recordOf((await events()).at(-1))
    assert.equal(record.decision, decision)
    assert.deepEqual(record.basis, [{ gate: 6, rule: 'p/always', effect: decision, reads: [] }])
    assert.deepEqual([record.policy?.name, record.policy?.version], ['p', '3'])
  },
)

test('a rule that allows lets the call through, and is on record with the fields it read [H-33 H-47 H-48]', async () => {
  const capability = echo({
    context: {
      name: 'c',
      version: '1.0.0',
      identifies: 'the amount',
      fields: { amount: { source: 'payload:/amount', schema: { type: 'integer' }, evidence: 'value' } },
      example: { amount: 1 },
    },
  })
  const rules: Policy['rules'] = [{ id: 'small', when: { '<': [{ var: 'context.amount' }, 10] }, decision: 'allow' }]
  const { call, events } = await givenHost({ capabilities: [capability], policies: [always('allow', { rules })] })
  const allowed = await call(anyone, { capability_id: 'test.echo', payload: { amount: 9 } })
  assert.equal(allowed.outcome, 'success')
  for (const event of (await events()).slice(-2)) {
    const { basis, decision, context, policy } = recordOf(event)
    assert.deepEqual(basis, [{ gate: 6, rule: 'p/small', effect: 'allow', reads: ['amount'] }])
    assert.deepEqual([decision, policy?.state], ['allow', 'open'])
    assert.deepEqual(context, [
      { name: 'amount', source: 'payload:/amount', state: 'present', sensitive: false, value: 9 },
    ])
  }
  const refused = await call(anyone, { capability_id: 'test.echo', payload: { amount: 10 } })
  assert.deepEqual([refused.denial?.code, refused.denial?.details?.['reason']], ['policy_blocked', 'no_matching_allow'])
})

test('what a record holds under a mark is nowhere in evidence, whatever the names in it [H-69 H-71]', async () => {
  const person = z.object({ ssn: z.string().meta({ 'x-sensitive': true }) })
  const input = z.object({ people: z.record(z.string(), person) })
  const spec = { id: 'test.people', version: '1.0.0', description: 'Takes people.', policy: {}, input }
  const capability = defineCapability(spec, (given) => {
    throw new Error(`cannot take ${JSON.stringify(given)}`)
  })
  const { call, events } = await givenHost({ capabilities: [capability] })
  const payload = { people: { ida: { ssn: '0207-61-33' } } }
  const { error } = await call(anyone, { capability_id: 'test.people', payload })
  assert.equal(error?.message, 'cannot take {"people":{"ida":{"ssn":"[redacted]"}}}')
  assert.doesNotMatch(JSON.stringify(await events()), /0207/)
})

test('what is on record of a call is enough to decide it again, or says which field is needed [H-49]', async () => {
  const fields = {
    amount: { source: 'payload:/amount', schema: { type: 'integer' }, evidence: 'value' },
    who: { source: 'payload:/who', schema: { type: 'string' }, sensitive: true },
  } as const
  const capability = echo({
    context: { name: 'c', version: '1.0.0', identifies: 'what', fields, example: { amount: 1, who: 'x' } },
  })
  const policy = always('allow', {
    rules: [
      { id: 'small', when: { '<': [{ var: 'context.amount' }, 10] }, decision: 'allow' },
      { id: 'friend', when: { '==': [{ var: 'context.who' }, 'ida'] }, decision: 'allow' },
    ],
  })
  const { call, events, ambit, host } = await givenHost({ capabilities: [capability], policies: [policy] })
  const set = compilePolicies([policy])
  for (const [amount, who] of [
    [1, 'x'],
    [20, 'ida'],
    [20, 'x'],
  ] as const) {
    const { outcome } = await call(anyone, { capability_id: 'test.echo', payload: { amount, who } })
    const record = recordOf((await events()).at(-1))
    const known = Object.fromEntries((record.context ?? []).flatMap((e) => ('value' in e ? [[e.name, e.value]] : [])))
    const again = decide(set, 'test.echo', { context: known as Json, subject: {} } as never)
    const needs = (record.context ?? []).find(({ name, digest }) => name === 'who' && digest !== undefined)
    if (again.decision === 'allow') assert.equal(outcome, 'success')
    // A value supplied later is held against the recorded digest first.
    else {
      const { contextDigest } = await import('../evidence/digests.ts')
      const digest = await ambit.keyring.digest(host.hostId)
      assert.equal(needs?.digest, contextDigest(digest, 'who', who))
      const whole = decide(set, 'test.echo', { context: { ...known, who } as Json, subject: {} } as never)
      assert.equal(whole.decision === 'allow', outcome === 'success')
    }
    assert.equal(record.policy?.hash, set.policies[0]?.hash)
  }
})

test('open runs, restricted wants a verified caller, audited is written as such, blocked and approval stay two things [H-34]', async () => {
  const { call, caller, events } = await givenHost({
    capabilities: [
      echo({ id: 'a.open' }),
      echo({ id: 'a.restricted', policy: { auth_required: true, permissions: ['go'] } }),
      echo({ id: 'a.approval', policy: { approval_required: true } }),
      echo({ id: 'a.audited', assurance: { level: 'S2' } }),
      echo({ id: 'a.blocked', policy: { approval_required: true } }),
    ],
    block: ['a.blocked'],
  })
  const ida = await caller({ id: 'ida', kind: 'user', permissions: ['go'] })
  const codeOf = async (id: string, by = anyone) => (await call(by, { capability_id: id })).denial?.code ?? 'success'
  assert.equal(await codeOf('a.open'), 'success')
  assert.equal(await codeOf('a.restricted'), 'policy_blocked')
  assert.equal(await codeOf('a.restricted', ida), 'success')
  assert.equal(await codeOf('a.approval'), 'approval_required')
  assert.equal(await codeOf('a.blocked'), 'policy_blocked')
  assert.equal(recordOf((await events()).at(-1)).policy?.state, 'blocked')
  assert.equal(await codeOf('a.audited'), 'success')
  assert.deepEqual((await events()).at(-1)?.assurance, { level: 'S2' })
  const taken = { ...ida, permissions: [], revokedPermissions: ['go'] }
  const { denial } = await call(taken, { capability_id: 'a.restricted' })
  assert.deepEqual([denial?.details?.['reason'], denial?.details?.['right']], ['entitlement_revoked', 'go'])
  assert.equal(recordOf((await events()).at(-1)).policy?.state, 'revoked')
})

test('no policy at all is not open, and one that cannot be evaluated denies [H-35]', async () => {
  const { call } = await givenHost({
    capabilities: [echo({ id: 'a.silent', policy: undefined as never }), echo()],
    policies: [always('allow', { rules: [{ id: 'r', when: { '<': [{ var: 'purpose' }, 3] }, decision: 'allow' }] })],
  })
  const silent = await call(anyone, { capability_id: 'a.silent' })
  assert.deepEqual([silent.denial?.code, silent.denial?.details?.['reason']], ['policy_blocked', 'no_matching_allow'])
  const broken = await call(anyone, { capability_id: 'test.echo', metadata: { purpose: 'words' } })
  assert.equal(broken.denial?.code, 'policy_blocked')
  assert.match(String(broken.denial?.details?.['reason']), /^(?:policy_error|no_matching_allow)$/)
})

test('a policy that only audits does not block, and what it would have done is on record [H-36]', async () => {
  const { call, events } = await givenHost({
    capabilities: [echo()],
    policies: [always('deny', { mode: 'audit_only' })],
  })
  assert.equal((await call(anyone, { capability_id: 'test.echo' })).outcome, 'success')
  assert.deepEqual(
    recordOf((await events()).at(-1)).basis?.map(({ effect }) => effect),
    ['would_deny', 'allow'],
  )
})

test('a block pattern may ask for approval, and is then counted among the rules [H-32 H-51]', async () => {
  const patterns = [
    { capability_id: 'test.echo', field: 'note', pattern: 'all', decision: 'requires_approval' as const },
  ]
  const { call } = await givenHost({ capabilities: [echo()], patterns })
  const asked = await call(anyone, { capability_id: 'test.echo', payload: { note: 'drop ALL' } })
  assert.equal(asked.denial?.code, 'approval_required')
  assert.match(String(asked.denial?.details?.['approval_id']), /^apr_/)
  assert.equal((await call(anyone, { capability_id: 'test.echo', payload: { note: 'one' } })).outcome, 'success')
})

test('a fact of the host is fetched by the host; one that cannot be fetched is missing evidence [H-15 H-16]', async () => {
  const context = {
    name: 'c',
    version: '1.0.0',
    identifies: 'stock',
    fields: { left: { source: 'host:stock', schema: { type: 'integer' }, evidence: 'value' as const } },
    example: { left: 1 },
  }
  let answer: () => Json | undefined = () => 3
  const { call, events } = await givenHost({
    capabilities: [echo({ context })],
    resolvers: { stock: () => answer() },
  })
  const envelope = { capability_id: 'test.echo', metadata: { context: {}, stock: 9 }, payload: { left: 9 } }
  assert.equal((await call(anyone, envelope)).outcome, 'success')
  assert.equal(recordOf((await events()).at(-1)).context?.[0]?.value, 3)
  const missing = async () => (await call(anyone, envelope)).denial
  answer = () => undefined
  assert.deepEqual([(await missing())?.code, (await missing())?.details?.['missing']], ['evidence_required', ['left']])
  answer = () => {
    throw new Error('stock is down')
  }
  assert.equal((await missing())?.code, 'evidence_required')
  answer = () => 'many'
  assert.deepEqual((await missing())?.details, { part: 'context', path: '/left', keyword: 'type' })
  assert.match((await missing())?.message ?? '', /the contract says: `\/left` must be an integer$/)
  const given = await call(anyone, { ...envelope, metadata: { context: { left: 3 } } })
  assert.deepEqual(given.denial?.details, { part: 'context', undeclared: ['left'] })
})

test('input is held against all of JSON Schema and of a Standard Schema, by place and never by value [H-41 H-71]', async () => {
  const input = { type: 'object', properties: { n: { type: 'integer', multipleOf: 3, not: { const: 9 } } } }
  const even = z.object({ n: z.number().refine((n) => n % 2 === 0), name: z.string().default('x') })
  const { call } = await givenHost({
    capabilities: [echo({ id: 'a.json', input }), echo({ id: 'a.zod', input: even })],
  })
  const denial = async (id: string, n: number) => (await call(anyone, { capability_id: id, payload: { n } })).denial
  assert.equal(await denial('a.json', 6), null)
  assert.deepEqual((await denial('a.json', 4))?.details, {
    schema_id: 'a.json:1.0.0#input',
    path: '/n',
    keyword: 'multipleOf',
  })
  assert.match((await denial('a.json', 4))?.message ?? '', /input schema: `\/n` must be a multiple of 3$/)
  assert.equal((await denial('a.json', 9))?.details?.['keyword'], 'not')
  assert.deepEqual((await denial('a.zod', 3))?.details, {
    schema_id: 'a.zod:1.0.0#input',
    path: '/n',
    keyword: 'refinement',
  })
  assert.match((await denial('a.zod', 3))?.message ?? '', /: `\/n` is not what the capability takes$/)
  const { data } = await call(anyone, { capability_id: 'a.zod', payload: { n: 4 } })
  assert.deepEqual(data, { echo: { n: 4, name: 'x' } })
})

test.each(['async', 'fire_and_forget'] as const)(
  '%s is accepted at once and carried out later in the same correlation [H-67]',
  async (mode) => {
    const later = defineCapability(
      {
        id: 'test.later',
        version: '1.0.0',
        description: 'Later.',
        policy: {},
        modes: [mode],
        autonomy: { action_limit: 1 },
      },
      async () => {
        await sleep(5)
        return 'done'
      },
    )
    const { call, events, host } = await givenHost({ capabilities: [later] })
    const accepted = await call(anyone, { capability_id: 'test.later', mode, invocation_id: 'inv-a' })
    const { accepted: yes, deferred_invocation_id: id } = accepted.data as {
      accepted: boolean
      deferred_invocation_id: string
    }
    assert.deepEqual([accepted.outcome, yes], ['success', true])
    await vi.waitFor(async () => assert.equal((await host.gateway.recorded(anyone, id))?.data, 'done'))
    const own = (await events()).filter(
      ({ correlation: c }) => c.correlation_id === accepted.correlation.correlation_id,
    )
    assert.deepEqual(typesOf(own), [
      'execution_started',
      'execution_started',
      'execution_completed',
      'execution_completed',
    ])
    const deferred = own.filter(({ invocation_id }) => invocation_id === id)
    assert.deepEqual(
      deferred.map(({ correlation }) => correlation.causation_id),
      ['inv-a', 'inv-a'],
    )
  },
)

test('preview answers what would be decided and writes nothing [H-24]', async () => {
  const { host, events } = await givenHost({
    capabilities: [echo(), echo({ id: 'a.approval', policy: { approval_required: true } })],
    policies: [always('allow')],
  })
  const before = (await events()).length
  const preview = (capability_id: string) => host.gateway.preview(anyone, { capability_id, invocation_id: 'inv-p' })
  assert.deepEqual(await preview('test.echo'), {
    outcome: 'allowed',
    gate: null,
    denial: null,
    matched_rules: ['p/always'],
  })
  const asked = await preview('a.approval')
  assert.deepEqual([asked.outcome, asked.gate, asked.denial?.code], ['denied', '8', 'approval_required'])
  const details = asked.denial?.details ?? {}
  assert.deepEqual([details['approval_id'], details['expires_at'], details['quorum']], [undefined, undefined, 1])
  assert.equal(details['required_next_action'], 'make the call: people are asked with it')
  assert.equal((await preview('a.none')).gate, '1')
  assert.equal((await events()).length, before)
  assert.equal(await host.gateway.recorded(anyone, 'inv-p'), undefined)
})

test('preview names the request that people were asked with, and no other [H-24 H-53]', async () => {
  const given = await givenApprovals()
  const preview = async (minutes: number) => {
    const envelope = { capability_id: 'depot.release', invocation_id: 'inv-1', payload: { ...payload, minutes } }
    const correlation = { correlation_id: 'task' }
    return (await given.host.gateway.preview(given.planner, { ...envelope, correlation })).denial?.details ?? {}
  }
  assert.equal((await preview(14))['approval_id'], undefined)
  const id = approvalIdOf(await given.ask())
  assert.equal((await preview(14))['approval_id'], id)
  assert.equal((await preview(15))['approval_id'], undefined)
})

test('each part of an envelope has one place, and what has none is refused by name [H-13 H-19]', async () => {
  const { host } = await givenHost({ capabilities: [echo()] })
  const invoke = (envelope: unknown) => host.gateway.invoke(anyone, envelope)
  for (const [member, value] of [
    ['roles', []],
    ['tenant', 'x'],
    ['context', {}],
    ['environment', 'prod'],
  ] as const)
    await assert.rejects(
      invoke({ capability_id: 'test.echo', [member]: value }),
      ({ code, message }: Error & { code: string }) => code.startsWith('field.') && message.includes(member),
    )
  for (const bad of [null, 7, 'text', [], {}, { capability_id: '' }, { capability_id: 'a', payload: [] }])
    await assert.rejects(invoke(bad), ({ code }: { code: string }) => code.startsWith('field.'))
})

test('no call enters the histories of people and keys, and what the runtime says of itself enters no call [H-96]', async () => {
  const { host, call, events, caller } = await givenHost({ capabilities: [echo()] })
  for (const correlation_id of ['ambit-admin-northlight-depot', 'host-identity-northlight-depot'])
    for (const where of [{ correlation_id }, { correlation: { correlation_id } }])
      await assert.rejects(host.gateway.invoke(anyone, { capability_id: 'test.echo', ...where }), {
        code: 'field.invalid',
      })
  await caller({ id: 'ida', kind: 'user' })
  const { correlation } = await call(anyone, { capability_id: 'test.echo' })
  for (const event of await events()) {
    const own = event.correlation.correlation_id === correlation.correlation_id
    assert.equal(own, event.event_type.startsWith('execution_'), event.event_type)
    if (!own) assert.equal(event.capability_id, 'ambit.runtime')
  }
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test, vi } from 'vitest'
import { givenServer, scopedKey, sharedKey } from '../../test/support/server.ts'
import { canonical, type Json } from '../base/canonical.ts'
import { defineCapability } from '../runtime/hosting/offer.ts'

const open = { version: '1.0.0', description: 'A fixture.', policy: { auth_required: false } } as const

test('whatever was processed is 200, denied and failed calls too [H-74]', async () => {
  const { ask } = await givenServer()
  const outcomes = []
  for (const [name, payload] of [
    ['echo', { value: 1 }],
    ['fail', {}],
    ['guarded', {}],
    ['approval', {}],
    ['risky', {}],
    ['unsafe', {}],
    ['unknown', {}],
  ] as const) {
    const { status, body } = await ask('POST', '/invoke', { body: { capability_id: `conformance.${name}`, payload } })
    assert.equal(status, 200)
    outcomes.push([body.outcome, body.denial?.code ?? body.error?.type ?? null])
  }
  assert.deepEqual(outcomes, [
    ['success', null],
    ['failure', 'Error'],
    ['denied', 'invariant_failed'],
    ['denied', 'approval_required'],
    ['denied', 'policy_blocked'],
    ['denied', 'safety_blocked'],
    ['denied', 'capability_not_found'],
  ])
})

test('a correlation that is given stays as it is, one that is missing is made, in result and events alike [H-22 H-23]', async () => {
  const { ask } = await givenServer()
  const correlation = {
    correlation_id: 'run/5521 ü',
    causation_id: 'inv_0',
    parent_correlation_id: 'run-1',
    trace_id: 't-1',
    baggage: { plan: 'a', step: 2, dry: false, none: null },
    environment: 'test',
  }
  for (const [given, id] of [
    [{ correlation }, correlation.correlation_id],
    [{ correlation: {} }, undefined],
    [{}, undefined],
    [{ correlation_id: 'at the top' }, 'at the top'],
  ] as const) {
    const { body } = await ask('POST', '/invoke', { body: { capability_id: 'conformance.echo', ...given } })
    const found = body.correlation
    assert.match(found.correlation_id, /^(cor_[0-9a-z]+|run\/5521 ü|at the top)$/)
    if (id !== undefined) assert.equal(found.correlation_id, id)
    if (id === correlation.correlation_id) assert.deepEqual(found, correlation)
    const { body: replay } = await ask('GET', `/replay/${encodeURIComponent(found.correlation_id)}`)
    assert.deepEqual(
      replay.events.map((event: { event_id: string }) => event.event_id),
      body.evidence_ids,
    )
    for (const event of replay.events) assert.deepEqual(event.correlation, found)
  }
})

test('answers have sorted members at every level, whatever their names [H-77]', async () => {
  const { ask } = await givenServer()
  const names = fc.constantFrom('10', '9', '1', 'b', 'a', 'constructor', 'é', '\u{10000}', '\uffff', 'toString', '')
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.integer(),
      fc.string({ unit: 'grapheme' }),
      fc.array(tie('value')),
      tie('object'),
    ),
    object: fc.dictionary(names, tie('value'), { noNullPrototype: true }),
  })).value
  await fc.assert(
    fc.asyncProperty(value, async (given) => {
      const { text, body } = await ask('POST', '/invoke', {
        body: { capability_id: 'conformance.echo', payload: { value: given } },
      })
      assert.equal(text, canonical(body as Json))
      assert.deepEqual(body.data.echo, JSON.parse(JSON.stringify(given)))
    }),
    { numRuns: 50 },
  )
  for (const path of ['/', '/host', '/capabilities', '/head', '/v1/approvals'])
    await ask('GET', path).then(({ text, body }) => assert.equal(text, canonical(body as Json)))
})

test('a caller lists and calls what it may, with schemas, contract and boundary [H-68]', async () => {
  const forAlice = defineCapability(
    {
      ...open,
      id: 'depot.alice',
      policy: { auth_required: true, allowed_actors: ['alice'], name: 'own', statement: 'Only Alice.' },
    },
    () => 1,
  )
  const { ask } = await givenServer({
    offer: { capabilities: [forAlice, defineCapability({ ...open, id: 'depot.all' }, () => 2)] },
  })
  const seenBy = async (key: string): Promise<string[]> => {
    const { body } = await ask('GET', '/capabilities', { key })
    assert.deepEqual((await ask('GET', '/host', { key })).body.capabilities, body.capabilities)
    return body.capabilities.map(({ id }: { id: string }) => id)
  }
  assert.deepEqual(await seenBy('key-of-alice'), ['depot.alice', 'depot.all'])
  assert.deepEqual(await seenBy('key-of-bob'), ['depot.all'])
  assert.deepEqual(await seenBy(sharedKey), ['depot.alice', 'depot.all'])
  assert.deepEqual(await seenBy('scoped-key-of-the-tests'), [])
  const { body } = await ask('GET', '/capabilities', { key: 'key-of-alice' })
  assert.deepEqual(body.capabilities[0].metadata.policy, { name: 'own', statement: 'Only Alice.', state: 'restricted' })
  const called = await ask('POST', '/invoke', { key: 'key-of-bob', body: { capability_id: 'depot.alice' } })
  assert.equal(called.body.denial.code, 'policy_blocked')
})

test('the manifest says how its evidence can be checked [H-11]', async () => {
  const { ask } = await givenServer()
  const { body } = await ask('GET', '/host')
  const { body: identity } = await ask('GET', '/.well-known/chp-identity', { key: null })
  assert.deepEqual(
    [body.id, body.protocol_version, body.supported_versions, body.assurance, body.evidence],
    ['northlight-depot', '0.2', ['0.1', '0.2'], 'signed', { append_only: true, store: 'sqlite' }],
  )
  for (const member of ['assurance', 'key_id', 'public_key', 'host_identity'])
    assert.deepEqual(body[member], identity[member])
  assert.equal(body.host_identity.host_id, body.id)
})

test('a preview decides and leaves nothing behind; a recorded result is read by its caller alone [H-61 H-74]', async () => {
  const { ask } = await givenServer()
  const before = (await ask('GET', '/head')).body.sequence
  const preview = async (capability: string) => (await ask('POST', '/v1/preview', { body: { capability } })).body
  assert.deepEqual(await preview('conformance.echo'), {
    denial: null,
    gate: null,
    matched_rules: ['declared/policy'],
    outcome: 'allowed',
  })
  const risky = await preview('conformance.risky')
  assert.deepEqual([risky.outcome, risky.gate, risky.denial.code], ['denied', '6', 'policy_blocked'])
  assert.equal((await preview('conformance.approval')).denial.code, 'approval_required')
  assert.equal((await ask('GET', '/head')).body.sequence, before)
  assert.deepEqual((await ask('GET', '/v1/approvals')).body, { approvals: [] })
  const body = { capability_id: 'conformance.echo', invocation_id: 'inv/1', payload: { value: 'mine' } }
  const { body: result } = await ask('POST', '/invoke', { key: 'key-of-alice', body })
  assert.deepEqual((await ask('GET', '/v1/invocations/inv%2F1', { key: 'key-of-alice' })).body, result)
  for (const key of [sharedKey, 'key-of-bob']) {
    const { status, body: problem } = await ask('GET', '/v1/invocations/inv%2F1', { key })
    assert.deepEqual([status, problem.code], [404, 'invocation_not_found'])
  }
  const again = await ask('POST', '/invoke', { key: 'key-of-alice', body })
  assert.deepEqual(again.body, { ...result, replayed: true })
})

test('only the caller of a call for later is told that it runs, then how it ended [H-61 H-67]', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = defineCapability({ ...open, id: 'depot.slow', modes: ['async'] }, async () => {
    await gate.promise
    return 'done'
  })
  const { ask } = await givenServer({ offer: { capabilities: [slow] } })
  const body = { capability_id: 'depot.slow', mode: 'async' }
  const { data } = (await ask('POST', '/invoke', { key: 'key-of-alice', body })).body
  const poll = (key: string) => ask('GET', `/v1/invocations/${data.deferred_invocation_id}`, { key })
  const running = await poll('key-of-alice')
  assert.deepEqual(
    [running.status, running.body.code, running.body.detail, running.headers.get('retry-after')],
    [503, 'call_in_progress', 'the call is still running', '1'],
  )
  for (const key of ['key-of-bob', scopedKey]) assert.equal((await poll(key)).status, 404)
  gate.resolve()
  const ended = await vi.waitFor(async () => {
    const answer = await poll('key-of-alice')
    assert.equal(answer.status, 200)
    return answer.body
  })
  assert.deepEqual([ended.outcome, ended.data], ['success', 'done'])
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { verifyAttestation } from '../../test/support/evidence-dsse.ts'
import { type GivenServer, givenServer, sharedKey } from '../../test/support/server.ts'
import { verifyBundle } from '../evidence/verify/verify.ts'

const call = async (server: GivenServer, key: string, correlation_id: string, name = 'echo'): Promise<string> => {
  const body = { capability_id: `conformance.${name}`, correlation: { correlation_id } }
  return (await server.ask('POST', '/invoke', { key, body })).body.invocation_id
}
const sequences = (body: { events: { sequence: number }[] }): number[] => body.events.map(({ sequence }) => sequence)

test('events are read by correlation, in order, from a place on and up to a number; an unknown one has none [H-72]', async () => {
  const server = await givenServer()
  const { ask } = server
  for (let count = 0; count < 3; count++) {
    await call(server, sharedKey, 'cor-1')
    await call(server, sharedKey, 'cor-2')
  }
  const all = (await ask('GET', '/replay/cor-1')).body
  assert.deepEqual([all.event_count, all.events.length, all.truncated], [15, 15, undefined])
  assert.deepEqual(
    sequences(all),
    [...sequences(all)].sort((a, b) => a - b),
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 40 }), async (limit, since) => {
      const expected = sequences(all).filter((sequence) => sequence > since)
      const asked = await ask('GET', `/replay/cor-1?limit=${limit}&since_sequence=${since}`)
      assert.deepEqual(sequences(asked.body), expected.slice(0, limit))
      assert.equal(asked.body.truncated ?? false, expected.length > limit)
      const body = { correlation_id: 'cor-1', limit, since_sequence: since }
      const { replayed_at: _, ...posted } = (await ask('POST', '/replay', { body })).body
      const { replayed_at: __, ...gotten } = asked.body
      assert.deepEqual(posted, gotten)
    }),
    { numRuns: 30 },
  )
  const unknown = (await ask('GET', '/replay/unknown')).body
  assert.deepEqual([unknown.correlation_id, unknown.events, unknown.event_count], ['unknown', [], 0])
  const hidden = (await ask('GET', '/replay/cor-1?include_payloads=false')).body
  assert.deepEqual(
    hidden.events,
    all.events.map((event: object) => ({ ...event, payload: {} })),
  )
  for (const query of [
    'limit=0',
    'limit=10001',
    'limit=x',
    'since_sequence=-1',
    'include_payloads=1',
    'more=1',
    'limit=1&limit=2',
    'correlation_id=cor-2',
  ])
    assert.equal((await ask('GET', `/replay/cor-1?${query}`)).body.error.code, 'bad_request', query)
})

test('an id in a path is decoded once, whatever it is [H-72]', async () => {
  const { ask } = await givenServer()
  const id = fc
    .string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
    .filter((text) => !/\p{Cc}/u.test(text) && !/^\.\.?$/.test(text))
  await fc.assert(
    fc.asyncProperty(fc.oneof(id, fc.constantFrom('a/b', '%2F', '%252F', 'a%', 'a?b#c', '+', 'a b')), async (text) => {
      const { body } = await ask('GET', `/replay/${encodeURIComponent(text)}`)
      assert.equal(body.correlation_id, text)
    }),
    { numRuns: 100 },
  )
  for (const bad of ['%00', 'a%0Ab', 'x'.repeat(257)]) assert.equal((await ask('GET', `/replay/${bad}`)).status, 400)
})

test('a named caller reads what it did itself, a holder of the shared key or an auditor all of it [H-73]', async () => {
  const server = await givenServer()
  const { ask, keyOf } = server
  const mine = await call(server, 'key-of-alice', 'of-alice')
  await call(server, 'key-of-bob', 'of-bob')
  const auditor = await keyOf({ id: 'eve', kind: 'user', roles: ['auditor'] })
  const scoped = await keyOf({ id: 'frank', kind: 'user', roles: ['auditor'] }, ['conformance.echo'])
  const seen = async (key: string, id: string) => [
    (await ask('GET', `/replay/${id}`, { key })).body.event_count,
    (await ask('GET', `/verify/${id}`, { key })).status,
    (await ask('GET', `/export/${id}`, { key })).status,
  ]
  for (const key of ['key-of-alice', sharedKey, auditor]) assert.deepEqual(await seen(key, 'of-alice'), [5, 200, 200])
  for (const key of ['key-of-bob', scoped, 'scoped-key-of-the-tests'])
    assert.deepEqual(await seen(key, 'of-alice'), [0, 404, 404])
  assert.deepEqual(await seen(sharedKey, 'unknown'), [0, 404, 404])
  // Who calls under a name that another uses sees no more of the other by that.
  await call(server, 'key-of-bob', 'of-alice')
  const { body } = await ask('GET', '/replay/of-alice', { key: 'key-of-alice' })
  assert.deepEqual(
    [body.partial, new Set(body.events.map((event: { invocation_id: string }) => event.invocation_id))],
    [true, new Set([mine])],
  )
  assert.deepEqual(await seen(sharedKey, 'of-alice'), [10, 200, 200])
})

test('a correlation that others call under too is verified for each, and exported by those who read all of it [H-73]', async () => {
  const server = await givenServer()
  const { ask } = server
  await call(server, 'key-of-alice', 'task-42')
  await call(server, 'key-of-bob', 'task-42')
  await call(server, 'key-of-alice', 'task-42')
  for (const [key, count] of [
    ['key-of-alice', 10],
    ['key-of-bob', 5],
    [sharedKey, 15],
  ] as const) {
    const { body } = await ask('GET', '/verify/task-42', { key })
    assert.deepEqual([body.valid, body.event_count, body.verified_count], [true, count, count])
  }
  for (const query of ['', '?format=dsse']) {
    const { status, body } = await ask('GET', `/export/task-42${query}`, { key: 'key-of-alice' })
    assert.deepEqual([status, body.error.code], [403, 'caller_not_permitted'])
    assert.match(body.error.message, /^`task-42` holds calls of others too/)
  }
  assert.equal(verifyBundle((await ask('GET', '/export/task-42')).body).valid, true)
})

test('of a long correlation each reads its own events, from any place and as many as it asks for [H-72 H-73]', async () => {
  const server = await givenServer()
  for (let turn = 0; turn < 12; turn++)
    await Promise.all(
      Array.from({ length: 20 }, () => call(server, turn % 3 === 0 ? 'key-of-bob' : 'key-of-alice', 'long')),
    )
  const read = async (query: string, key = 'key-of-alice') =>
    (await server.ask('GET', `/replay/long?${query}`, { key })).body
  const whole = await read('', sharedKey)
  const own = whole.events.filter(({ subject }: { subject: { id: string } }) => subject.id === 'alice')
  assert.deepEqual([whole.event_count, own.length], [1_200, 800])
  for (const [limit, since] of [
    [10_000, 0],
    [1, 0],
    [7, 1_100],
    [500, 300],
    [10_000, 5_000],
  ] as const) {
    const { events, truncated = false, partial } = await read(`limit=${limit}&since_sequence=${since}`)
    const expected = own.filter(({ sequence }: { sequence: number }) => sequence > since)
    assert.deepEqual(events, expected.slice(0, limit))
    assert.deepEqual([truncated, partial], [expected.length > limit, true])
  }
})

test('an asserted subject counts nowhere: it lets the caller see nothing more [H-73]', async () => {
  const server = await givenServer()
  const body = {
    capability_id: 'conformance.echo',
    subject: { id: 'alice', verified: true, roles: ['admin'] },
    correlation: { correlation_id: 'forged' },
  }
  await server.ask('POST', '/invoke', { body })
  const { events } = (await server.ask('GET', '/replay/forged')).body
  for (const event of events) assert.deepEqual(event.subject, { id: 'alice', verified: false })
  assert.equal((await server.ask('GET', '/replay/forged', { key: 'key-of-alice' })).body.event_count, 0)
})

test('a chain is verified where it is, and exported it verifies anywhere, as a bundle and as an attestation [H-79 H-83]', async () => {
  const server = await givenServer()
  const { ask } = server
  await call(server, sharedKey, 'cor-1')
  await call(server, sharedKey, 'cor-1', 'risky')
  const { body } = await ask('GET', '/verify/cor-1')
  assert.deepEqual(body, {
    valid: true,
    correlation_id: 'cor-1',
    event_count: 6,
    verified_count: 6,
    unverified_count: 0,
    first_broken_sequence: null,
    covered: 'yes',
  })
  const { public_key } = (await ask('GET', '/.well-known/chp-identity', { key: null })).body
  const { body: bundle } = await ask('GET', '/export/cor-1')
  const report = verifyBundle(bundle, { pins: [public_key] })
  assert.deepEqual([report.valid, report.covered, bundle.completeness.correlation_id], [true, 'yes', 'cor-1'])
  const { body: envelope } = await ask('GET', '/export/cor-1?format=dsse')
  assert(verifyAttestation(envelope, { pins: [public_key] }).ok)
  assert.equal((await ask('GET', '/export/cor-1?format=other')).status, 400)
})

test('calling under the ids of another shows nothing of the other, and hides nothing from it [H-61 H-73]', async () => {
  const server = await givenServer()
  const [planner, eve] = [
    await server.keyOf({ id: 'planner', kind: 'service' }),
    await server.keyOf({ id: 'eve', kind: 'service' }),
  ]
  const ids = { invocation_id: 'release-9', correlation: { correlation_id: 'run-9' } }
  await server.ask('POST', '/invoke', { key: eve, body: { capability_id: 'nothing.here', ...ids } })
  const body = { capability_id: 'conformance.echo', payload: { value: 'x' }, ...ids }
  assert.equal((await server.ask('POST', '/invoke', { key: planner, body })).body.outcome, 'success')
  const seen = async (key: string) =>
    (await server.ask('GET', '/replay/run-9', { key })).body.events.map(
      (event: { subject: { id: string } }) => event.subject.id,
    )
  assert.deepEqual([...new Set(await seen(eve))], ['eve'])
  assert.deepEqual([...new Set(await seen(planner))], ['planner'])
  for (const key of [eve, planner]) assert.equal((await server.ask('GET', '/export/run-9', { key })).status, 403)
})

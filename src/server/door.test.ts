import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { givenServer, scopedKey, sharedKey, testAccess } from '../../test/support/server.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import { issueKey } from '../runtime/identity/api-keys.ts'
import { operator } from '../runtime/identity/caller.ts'
import { createPrincipal } from '../runtime/identity/principals.ts'
import { createTenant, setTenantStatus } from '../runtime/identity/tenants.ts'
import { fakeClock } from '../testing/ports.ts'
import { createApp } from './app.ts'
import { listen } from './listen.ts'
import { routes } from './routes.ts'

const echo = { capability_id: 'conformance.echo', payload: { value: 1 } }

test('the wire version is judged first: on every path and method, before credentials [H-77]', async () => {
  const { ask } = await givenServer()
  for (const [method, path] of [
    ...routes.map((route) => [route.method, route.path] as const),
    ['DELETE', '/invoke'] as const,
    ['GET', '/nowhere'] as const,
  ]) {
    const { status, body } = await ask(method, path, { key: null, headers: { 'x-chp-version': '7.0' } })
    assert.equal(status, 400, path)
    assert.equal(body.error.code, 'version_unsupported')
    assert.deepEqual([body.denial.requested, body.denial.supported], ['7.0', ['0.1', '0.2']])
  }
  for (const version of ['0.1', '0.2'])
    assert.equal((await ask('GET', '/health', { key: null, headers: { 'x-chp-version': version } })).status, 200)
})

test('five paths are for everybody and name no capability, all others want to know who asks [H-75]', async () => {
  const { ask } = await givenServer()
  const open = ['/', '/health', '/.well-known/chp-identity', '/v1/ready', '/v1/tenants/northlight/identity']
  for (const path of open) {
    const { status, text } = await ask('GET', path, { key: null })
    assert.equal(status, path === '/v1/ready' ? 204 : 200)
    assert.doesNotMatch(text, /capabilit|conformance/)
  }
  for (const { method, path } of routes.filter((route) => !route.public)) {
    const { status, text } = await ask(method, path, { key: null })
    assert.equal(status, 401, path)
    assert.match(text, path.startsWith('/v1/') ? /"code":"unauthenticated"/ : /"code":"unauthorized"/)
  }
  assert.equal((await ask('GET', '/nowhere', { key: null })).status, 401)
})

test('a key is good as a whole, in either header, and a bad one beside a good one is refused [H-76]', async () => {
  const { ask, keyOf } = await givenServer()
  const apiKey = await keyOf({ id: 'carol', kind: 'user' })
  const bearer = (text: string) => ({ key: null, headers: { authorization: `Bearer ${text}` } })
  for (const key of [sharedKey, scopedKey, 'key-of-bob', 'next-key-of-bob', apiKey]) {
    assert.equal((await ask('GET', '/capabilities', { key })).status, 200)
    assert.equal((await ask('GET', '/capabilities', bearer(key))).status, 200)
    assert.equal(
      (await ask('GET', '/capabilities', { key, ...{ headers: { authorization: 'Bearer x' } } })).status,
      401,
    )
    for (const wrong of ['', key.slice(1), `${key}x`, key.toUpperCase(), 'x'.repeat(5000)])
      assert.equal((await ask('GET', '/capabilities', { key: wrong })).status, 401)
  }
  for (const authorization of ['', 'Bearer', 'Basic dTpw', `Bearer ${sharedKey} ${sharedKey}`])
    assert.equal((await ask('GET', '/capabilities', { key: null, headers: { authorization } })).status, 401)
  assert.equal((await ask('GET', '/capabilities', { headers: { 'x-chp-token': '{}' } })).status, 401)
})

test('credentials of two people in one request are refused, whichever headers they come in [H-76]', async () => {
  const { ask, keyOf } = await givenServer()
  const carol = await keyOf({ id: 'carol', kind: 'user' })
  const status = async (key: string, other: string) =>
    (await ask('GET', '/capabilities', { key, headers: { authorization: `Bearer ${other}` } })).status
  for (const [one, other] of [
    ['key-of-alice', 'key-of-bob'],
    ['key-of-bob', carol],
    [carol, 'key-of-alice'],
  ] as const)
    assert.deepEqual([await status(one, other), await status(other, one)], [401, 401])
  // Two keys of one person, or one of them and a key that many share, name no second person.
  for (const other of ['key-of-bob', 'next-key-of-bob', sharedKey])
    assert.deepEqual([await status('key-of-bob', other), await status(other, 'key-of-bob')], [200, 200])
})

test('a server does not start with a key that is empty, has no good name, or is held by two [H-78]', async () => {
  const { ambit, hosts } = await givenServer()
  const key = (secret: string, name: string | null = null) => ({ name, secret, scopes: [] })
  for (const keys of [
    [key('')],
    [key(' a')],
    [key('a\n')],
    [key('a'), key('a', 'alice')],
    [key('a', '')],
    [key('a', 'a\nb')],
  ])
    assert.throws(() => createApp({ ambit, hosts, access: { open: false, keys } }), { code: 'config.invalid' })
})

test('the key says which tenant is meant, and one of a suspended tenant is like a wrong one [H-73 H-76]', async () => {
  const { ask, ambit } = await givenServer()
  await createTenant(ambit, { id: 'elsewhere' })
  const there = operator(tenantId('elsewhere'))
  await createPrincipal(ambit, there, { id: 'dave', kind: 'user', roles: ['admin'] })
  const { secret } = await issueKey(ambit, there, { principal: 'dave' })
  assert.equal((await ask('GET', '/host', { key: secret })).body.id, 'elsewhere')
  assert.equal((await ask('GET', '/host')).body.id, 'northlight-depot')
  const both = { key: secret, headers: { authorization: `Bearer ${sharedKey}` } }
  assert.equal((await ask('GET', '/host', both)).status, 401)
  await setTenantStatus(ambit, there, 'suspended')
  const wrong = await ask('GET', '/host', { key: 'no such key' })
  const refused = await ask('GET', '/host', { key: secret })
  assert.deepEqual([refused.status, refused.body.error.code], [401, wrong.body.error.code])
})

test('a call outside the scope of a key is answered, and is evidence [H-76]', async () => {
  const { ask } = await givenServer()
  const { status, body } = await ask('POST', '/invoke', { key: scopedKey, body: { capability_id: 'conformance.fail' } })
  assert.equal(status, 200)
  assert.deepEqual(
    [body.outcome, body.denial.code, body.denial.details.reason],
    ['denied', 'policy_blocked', 'key_scope'],
  )
  const replay = await ask('GET', `/replay/${body.correlation.correlation_id}`)
  assert.deepEqual(
    replay.body.events.map((event: { event_type: string }) => event.event_type),
    ['execution_denied'],
  )
  assert.deepEqual(replay.body.events[0].subject.id, 'conformance-scoped')
})

test('what is wrong with a request is said with the status for it [H-74 H-80]', async () => {
  const { ask } = await givenServer({ limits: { bodyBytesMax: 2_000 } })
  const large = JSON.stringify({ ...echo, payload: { value: 'x'.repeat(3_000) } })
  assert.equal((await ask('POST', '/invoke', { raw: large })).status, 413)
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(512).fill(32)),
  })
  assert.equal((await ask('POST', '/invoke', { raw: endless })).body.error.code, 'too_large')
  for (const type of ['text/plain', 'application/json; charset=latin1', 'application/x-www-form-urlencoded', ''])
    assert.equal((await ask('POST', '/invoke', { raw: '{}', headers: { 'content-type': type } })).status, 415)
  const allowed = await ask('PUT', '/anchors')
  assert.deepEqual([allowed.status, allowed.headers.get('allow')], [405, 'POST, GET'])
  assert.equal((await ask('GET', '/nowhere')).status, 404)
  assert.equal((await ask('POST', '/v1/preview', { raw: large })).body.code, 'payload_too_large')
  assert.equal((await ask('POST', '/v1/preview', { raw: '{' })).body.code, 'json_invalid')
  assert.equal((await ask('POST', '/v1/preview', { raw: '{"x":1}' })).body.code, 'field_unknown')
})

test('a caller who asks too often has to wait, and no other [H-80]', async () => {
  const clock = fakeClock(1_790_000_000_000)
  const { ask } = await givenServer({ clock, limits: { requestsPerSecondMax: 3 } })
  const as = async (key: string) => (await ask('GET', '/capabilities', { key })).status
  assert.deepEqual([await as(sharedKey), await as(sharedKey), await as(sharedKey)], [200, 200, 200])
  const late = await ask('GET', '/capabilities')
  assert.deepEqual([late.status, late.body.error.code, late.headers.get('retry-after')], [429, 'rate_limited', '1'])
  assert.equal(await as('key-of-alice'), 200)
  clock.advance(400)
  assert.deepEqual([await as(sharedKey), await as(sharedKey)], [200, 429])
})

test('more requests than there is room for are sent away, those under way end [H-80]', async () => {
  const { app, ask } = await givenServer({ limits: { requestsAtOnceMax: 1 } })
  let open: (() => void) | undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      open = () => {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(echo)))
        controller.close()
      }
    },
  })
  const first = app.fetch(
    new Request('http://localhost/invoke', {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { 'x-chp-key': sharedKey, 'content-type': 'application/json' },
    } as RequestInit),
  )
  const second = await ask('GET', '/capabilities')
  assert.deepEqual([second.status, second.body.error.code], [503, 'server_at_capacity'])
  open?.()
  assert.equal((await first).status, 200)
  assert.equal((await ask('GET', '/capabilities')).status, 200)
})

test('without keys the host is for this machine alone [H-78]', async () => {
  const { ambit, hosts, ask } = await givenServer({ access: { open: true, keys: [] } })
  const app = createApp({ ambit, hosts, access: { open: true, keys: [] } })
  for (const hostname of ['0.0.0.0', '::', '192.0.2.1', 'example.org'])
    await assert.rejects(listen(app, { port: 0, hostname }), { code: 'config.invalid' })
  const { url, close } = await listen(app, { port: 0 })
  assert.equal((await fetch(`${url}/capabilities`)).status, 200)
  await close()
  const from = (headers: Record<string, string>) => ask('GET', '/capabilities', { key: null, headers })
  assert.equal((await from({ host: 'localhost:80' })).status, 200)
  for (const headers of [{ host: 'attacker.example' }, { origin: 'https://attacker.example' }, { origin: 'null' }])
    assert.equal((await from(headers)).body.error.code, 'forbidden')
  const closed = createApp({ ambit, hosts, access: testAccess })
  await (await listen(closed, { port: 0, hostname: '0.0.0.0' })).close()
})

test('ready is for everybody and says nothing but yes or no; many who ask are one question to the store [H-75]', async () => {
  const { ask, ambit } = await givenServer()
  const reads = vi.spyOn(ambit.store, 'read')
  const asked = await Promise.all(Array.from({ length: 50 }, () => ask('GET', '/v1/ready', { key: null })))
  assert.deepEqual(new Set(asked.map(({ status, text }) => `${status} ${text}`)), new Set(['204 ']))
  assert.equal(reads.mock.calls.length, 1)
  const gone = await givenServer()
  await gone.ambit.store.close()
  assert.deepEqual((await gone.ask('GET', '/v1/ready', { key: null })).status, 503)
  assert.equal((await gone.ask('GET', '/health', { key: null })).status, 200)
  const hanging = await givenServer()
  const hung = vi.spyOn(hanging.ambit.store, 'read').mockReturnValue(new Promise(() => undefined))
  assert.equal((await hanging.ask('GET', '/v1/ready', { key: null })).status, 503)
  hung.mockRestore()
})

test('a trace goes on through an answer, and a request without one begins its own [H-70]', async () => {
  const { ask } = await givenServer()
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const known = await ask('GET', '/health', { headers: { traceparent } })
  assert.match(
    known.headers.get('traceparent') ?? '',
    /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
  )
  const broken = await ask('GET', '/v1/nowhere', { headers: { traceparent: 'garbage' } })
  assert.match(broken.headers.get('traceparent') ?? '', new RegExp(`^00-${broken.body.trace_id}-[0-9a-f]{16}-00$`))
})

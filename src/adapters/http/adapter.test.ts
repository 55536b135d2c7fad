import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { anyone } from '../../../test/support/host.ts'
import {
  ended,
  get,
  givenHttp as given,
  operation,
  post,
  type Request,
  token,
} from '../../../test/support/http-upstream.ts'
import { givenServer, type Seen } from '../../../test/support/upstream.ts'
import { limits } from '../../base/limits.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { toolsOf } from '../../gateway/tools/tools.ts'
import { operator } from '../../runtime/identity/caller.ts'
import { setSecret } from '../../runtime/identity/secrets.ts'
import { type FilledRequest, fillRequest } from './request.ts'

const json = { 'content-type': 'application/json' }

test('an input fills path, query, headers, cookies and body of one request [H-90]', async () => {
  const { origin, seen } = await givenServer((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'),
  )
  const request: Request = {
    method: 'PUT',
    path: '/stock/{item}/lots/{lot}',
    parameters: [
      { name: 'item', in: 'path', from: 'item' },
      { name: 'lot', in: 'path', from: 'lot', style: 'matrix', explode: true },
      { name: 'tag', in: 'query', from: 'tags' },
      { name: 'where', in: 'query', from: 'where', style: 'deepObject' },
      { name: 'X-Reason', in: 'header', from: 'reason' },
      { name: 'lang', in: 'cookie', from: 'lang' },
      { name: 'gone', in: 'query', from: 'gone' },
    ],
    body: { from: 'body', type: 'application/json' },
  }
  const { call } = await given(`${origin}`, [operation(request)], {
    url: `${origin}/v1/`,
    query: { v: '2' },
    headers: { cookie: 'a=b' },
  })
  const result = await call({
    ...{ item: 'ä b?#&', lot: [1, 2], tags: ['x', 'y&z'], where: { a: { b: true } }, reason: 'a, b', lang: 'd;e' },
    body: { count: 3 },
  })
  assert.deepEqual([result.outcome, result.data], ['success', { ok: true }])
  const [one] = seen as [Seen]
  assert.equal(one.url, '/v1/stock/%C3%A4%20b%3F%23%26/lots/;lot=1;lot=2?tag=x&tag=y%26z&where%5Ba%5D%5Bb%5D=true&v=2')
  assert.deepEqual(
    [one.method, one.headers['x-reason'], one.headers.cookie, one.headers['content-type'], one.body],
    ['PUT', 'a, b', 'a=b; lang=d%3Be', 'application/json', '{"count":3}'],
  )
  assert.match(one.headers['idempotency-key'] as string, /^[\w:-]{40,100}$/)
  assert.match(one.headers['traceparent'] as string, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
})

test('what only reads has no effect and no key; what changes has one of each [H-90]', async () => {
  const { origin, seen } = await givenServer((response) => response.writeHead(204).end())
  const { call, capabilities } = await given(origin, [get, post])
  assert.deepEqual(
    capabilities.map(({ descriptor }) => descriptor.side_effects),
    [[], ['http.POST']],
  )
  assert.deepEqual(
    toolsOf(capabilities.map(({ descriptor }) => descriptor)).map(({ annotations }) => annotations.readOnlyHint),
    [true, false],
  )
  assert.equal((await call()).data, null)
  assert.equal((await call({ body: 1 }, 'depot.post')).data, null)
  assert.deepEqual(
    seen.map(({ headers }) => 'idempotency-key' in headers),
    [false, true],
  )
})

test('whatever its file says, what a server offers comes from there: its words are fenced, its answers remembered so [H-90 F-07]', async () => {
  const { origin } = await givenServer((response) => response.end())
  const claimed = { metadata: { origin: 'internal', network: 'internal' } } as const
  const { capabilities, call, events } = await given(origin, [get, operation(post.request, claimed)])
  const descriptors = capabilities.map(({ descriptor }) => descriptor)
  assert.deepEqual(
    descriptors.map(({ metadata }) => metadata),
    [
      { origin, network: 'external' },
      { origin, network: 'internal' },
    ],
  )
  for (const { description } of toolsOf(descriptors)) assert.match(description, /^<ambit_data origin="tool"/)
  await call()
  const completed = (await events()).find(({ event_type }) => event_type === 'execution_completed')
  assert(completed)
  assert.deepEqual(completed.payload, { ...completed.payload, origin })
})

test('a secret goes into its place, is named in the descriptor, and comes back nowhere [H-90 H-71]', async () => {
  const { origin, seen } = await givenServer((response, { url, headers }) =>
    response
      .writeHead(url.includes('fail') ? 400 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ code: token, said: [headers.authorization, url, { [token]: 1 }] })),
  )
  const server = { headers: { Authorization: 'Bearer {secret:depot}' }, query: { key: '{secret:depot}' } }
  const fail = operation({ method: 'POST', path: '/fail' })
  const { call, capabilities, events } = await given(origin, [get, fail], server)
  assert.deepEqual(capabilities[0]?.descriptor.metadata?.credentials, { depot: { kind: 'header', origin } })
  const results = [await call(), await call({}, 'depot.post')]
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['success', 'failure'],
  )
  for (const { url, headers } of seen) {
    assert.equal(headers.authorization, `Bearer ${token}`)
    assert(url.endsWith(`?key=${token}`))
  }
  assert.doesNotMatch(JSON.stringify([results, await events()]), /8d1f6c/)
})

test('a credential of one operation is sent with no other, and no other fails without it [H-90 H-71]', async () => {
  const { origin, seen } = await givenServer((response) => response.end())
  const own = { headers: { 'X-Key': '{secret:depot}' }, query: { key: '{secret:depot}' } }
  const other = operation({ ...post.request, headers: { 'X-Key': '{secret:gone}' } })
  const { call, capabilities } = await given(origin, [operation({ ...get.request, ...own }), other], {
    headers: { 'X-Every': '1' },
  })
  assert.deepEqual(
    capabilities.map(({ descriptor }) => descriptor.metadata?.credentials),
    [{ depot: { kind: 'header', origin } }, { gone: { kind: 'header', origin } }],
  )
  assert.equal((await call()).outcome, 'success')
  assert.deepEqual(ended(await call({}, 'depot.post')), ['failure', 'secret_not_found', 'none'])
  assert.equal(seen.length, 1)
  assert.deepEqual([seen[0]?.headers['x-every'], seen[0]?.headers['x-key']], ['1', token])
  assert(seen[0]?.url.endsWith(`?key=${token}`))
})

test('a secret that is missing, or that no header can hold, sends nothing [H-90]', async () => {
  const { origin, seen } = await givenServer((response) => response.end())
  const missing = await given(origin, [post], { headers: { 'x-key': '{secret:gone}' } })
  assert.deepEqual(ended(await missing.call()), ['failure', 'secret_not_found', 'none'])
  const broken = await given(origin, [post], { headers: { 'x-key': '{secret:depot}' } })
  await setSecret(broken.ambit, operator(broken.host.tenant), 'depot', 'tok-8d1f\r\nx-other: 1')
  const result = await broken.call()
  assert.deepEqual(ended(result), ['failure', 'secret_invalid', 'none'])
  assert.doesNotMatch(JSON.stringify(result), /8d1f/)
  assert.equal(seen.length, 0)
})

test.each([
  '',
  '.',
  '..',
  '../x',
  'a/b',
  'a\\b',
  '%2e%2e',
  '%2E.',
  '..%2f',
  '%252e%252e',
  '%25252e%2e',
  '..;x',
  'a%00',
  '\0',
  '/',
  '%5c..',
])('no input leads to another path: %j [H-90]', async (id) => {
  const { origin, seen } = await givenServer((response) => response.end())
  const inPath = (style?: 'label' | 'matrix') =>
    operation(
      {
        method: 'DELETE',
        path: '/items/{id}',
        parameters: [{ name: 'id', in: 'path', from: 'id', ...(style && { style }) }],
      },
      { id: `depot.${style ?? 'simple'}` },
    )
  const { call } = await given(origin, [inPath(), inPath('label'), inPath('matrix')])
  for (const capability of ['depot.simple', 'depot.label', 'depot.matrix']) {
    assert.deepEqual(ended(await call({ id }, capability)), ['failure', 'request_invalid', 'none'])
    assert.deepEqual(ended(await call({ id: [id] }, capability)), ['failure', 'request_invalid', 'none'])
  }
  assert.deepEqual(ended(await call()), ['failure', 'request_invalid', 'none'])
  assert.equal(seen.length, 0)
})

test.each(['query', 'cookie'] as const)(
  'no input sends a name a second time that its %s has already [H-90]',
  async (place) => {
    const { origin, seen } = await givenServer((response) => response.end())
    const parameters = ['prefs', 'lang'].map((name) => ({ name, in: place, from: name }))
    const fixed =
      place === 'query' ? { query: { session: '{secret:depot}' } } : { headers: { cookie: '{secret:depot}' } }
    const host = await given(origin, [operation({ method: 'GET', path: '/', parameters })], fixed)
    await setSecret(host.ambit, operator(host.host.tenant), 'depot', 'session=tok-8d1f6c2e9b')
    for (const prefs of [{ session: 'attacker' }, { lang: 'de' }])
      assert.deepEqual(ended(await host.call({ prefs })), ['failure', 'request_invalid', 'none'])
    assert.equal(seen.length, 0)
    assert.equal((await host.call({ prefs: { theme: 'dark' } })).outcome, 'success')
  },
)

test('whatever an input is, it stays in its place of the path, or is refused [H-90]', async () => {
  const part = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[.%2eEfF5cC/\\\\;a]{0,8}$/))
  const request: Request = {
    method: 'GET',
    path: '/items/{id}/lots',
    parameters: [
      { name: 'id', in: 'path', from: 'id' },
      { name: 'q', in: 'query', from: 'q' },
    ],
  }
  await fc.assert(
    fc.asyncProperty(part, part, async (id, q) => {
      const filled = await fillRequest(request, { url: 'https://api.example/v1' }, { id, q }).catch((error) => error)
      if (filled instanceof CallEnded) return assert.equal(filled.code, 'request_invalid')
      const { origin, pathname, searchParams } = (filled as FilledRequest).url
      const [, base, items, found = '', lots, ...more] = pathname.split('/')
      assert.deepEqual([origin, base, items, lots, more], ['https://api.example', 'v1', 'items', 'lots', []])
      assert.deepEqual([decodeURIComponent(found), [...searchParams]], [id, [['q', q]]])
    }),
    { numRuns: 1_000 },
  )
})

test('no input ends a header, or gives a second meaning to one [H-90]', async () => {
  const { origin, seen } = await givenServer((response) => response.end())
  const { call } = await given(
    origin,
    [
      operation({
        method: 'GET',
        path: '/',
        parameters: [
          { name: 'X-A', in: 'header', from: 'a' },
          { name: 'q', in: 'query', from: 'q' },
        ],
      }),
    ],
    { query: { key: '1' } },
  )
  for (const a of ['x\r\nx-b: 1', 'x\n', '\0', 'ä', ['a,b'], { a: 'b=c' }, [[1]]])
    assert.deepEqual(ended(await call({ a })), ['failure', 'request_invalid', 'none'])
  assert.deepEqual(ended(await call({ q: { key: '2' } })), ['failure', 'request_invalid', 'none'])
  assert.equal(seen.length, 0)
  assert.deepEqual([(await call({ a: ['b=c', 'd'] })).success, seen[0]?.headers['x-a']], [true, 'b=c,d'])
})

test.each<[string, unknown, string | RegExp]>([
  ['application/json', { a: [1] }, '{"a":[1]}'],
  ['application/merge-patch+json', null, 'null'],
  ['application/x-www-form-urlencoded', { a: 'x y&', b: [1, 2], c: { d: 1 } }, 'a=x+y%26&b=1&b=2&c=%7B%22d%22%3A1%7D'],
  ['text/plain', 'ä', 'ä'],
  ['application/xml', '<a/>', '<a/>'],
  ['application/octet-stream', 'aGVyZQ==', 'here'],
  [
    'multipart/form-data',
    { a: 'x', f: { base64: 'aGVyZQ==', filename: 'a".txt', content_type: 'text/css' } },
    /name="a"\r\n\r\nx\r\n[\s\S]*name="f"; filename="a%22.txt"\r\nContent-Type: text\/css\r\n\r\nhere\r\n/,
  ],
])('a body of the type %s [H-90]', async (type, body, expected) => {
  const { origin, seen } = await givenServer((response) => response.end())
  const { call } = await given(origin, [operation({ method: 'POST', path: '/', body: { from: 'body', type } })])
  assert.equal((await call({ body })).outcome, 'success')
  if (typeof expected === 'string') assert.equal(seen[0]?.body, expected)
  else assert.match(seen[0]?.body ?? '', expected)
  assert(seen[0]?.headers['content-type']?.startsWith(type))
  assert.equal((await call({})).outcome, 'success')
  assert.deepEqual([seen[1]?.body, seen[1]?.headers['content-type']], ['', undefined])
})

test.each([
  ['application/octet-stream', 'no base64'],
  ['application/x-www-form-urlencoded', 'text'],
  ['multipart/form-data', [1]],
  ['text/plain', { a: 1 }],
])('a body that is no %s is not sent [H-90]', async (type, body) => {
  const { origin, seen } = await givenServer((response) => response.end())
  const { call } = await given(origin, [operation({ method: 'POST', path: '/', body: { from: 'body', type } })])
  assert.deepEqual(ended(await call({ body })), ['failure', 'request_invalid', 'none'])
  assert.equal(seen.length, 0)
})

test('it is tried again where that is declared and does nothing twice, under one key [H-90]', async () => {
  const retry = { max_attempts: 3, backoff_s: 0, retry_on: ['http_503'] }
  const { origin, seen } = await givenServer((response, { method }) => {
    const before = seen.filter((one) => one.method === method).length
    response.writeHead(before < 3 ? 503 : 200, json).end('1')
  })
  const { call } = await given(origin, [
    operation(get.request, { retry }),
    operation(post.request, { retry }),
    operation({ method: 'PUT', path: '/' }, { retry, idempotency: 'required' }),
    operation({ method: 'OPTIONS', path: '/' }, { retry: { ...retry, retry_on: ['http_500'] } }),
    operation({ method: 'HEAD', path: '/' }, { retry, side_effects: ['counts'] }),
  ])
  for (const id of ['get', 'put']) assert.equal((await call({}, `depot.${id}`)).data, 1)
  for (const id of ['post', 'options', 'head']) assert.equal((await call({}, `depot.${id}`)).error?.code, 'http_503')
  const count = (method: string) => seen.filter((one) => one.method === method)
  assert.deepEqual(
    ['GET', 'PUT', 'POST', 'OPTIONS', 'HEAD'].map((method) => count(method).length),
    [3, 3, 1, 1, 1],
  )
  assert.equal(new Set(count('PUT').map(({ headers }) => headers['idempotency-key'])).size, 1)
})

test('two callers who name their calls alike have two keys, each its own when it is repeated [H-90]', async () => {
  const { origin, seen } = await givenServer((response) => response.socket?.destroy())
  const retry = { max_attempts: 2, backoff_s: 0 }
  const { host } = await given(origin, [operation(post.request, { retry, idempotency: 'required' })])
  for (const name of ['ada', 'ben']) {
    const envelope = { capability_id: 'depot.post', payload: {}, invocation_id: 'order-1' }
    await host.gateway.invoke({ ...anyone, name }, envelope)
  }
  const [a, again, b, ...more] = seen.map(({ headers }) => headers['idempotency-key'])
  assert.equal(a, again)
  assert.notEqual(a, b)
  assert.doesNotMatch(`${a}${b}`, /order-1/)
  assert.equal(more.length, 1)
})

test('after an attempt that may have had an effect no later one can deny it [H-90]', async () => {
  const { origin, seen } = await givenServer((response) => {
    if (seen.length === 1) return response.socket?.destroy()
    return response.writeHead(409).end()
  })
  const retry = { max_attempts: 2, backoff_s: 0 }
  const { call } = await given(origin, [operation(post.request, { retry, idempotency: 'required' })])
  assert.deepEqual(ended(await call()), ['indeterminate', 'http_409', 'unknown'])
  assert.equal(seen.length, 2)
})

test('a server that keeps failing is left alone for a while, and all it offers is unavailable [H-90 H-25]', async () => {
  let isUp = false
  const { origin, seen } = await givenServer((response) => response.writeHead(isUp ? 200 : 500).end())
  const { call, clock } = await given(origin, [get, post])
  for (let count = 0; count < limits.breakerFailuresMax; count++) assert.equal((await call()).error?.code, 'http_500')
  const away = await call({}, 'depot.post')
  assert.deepEqual(
    [away.outcome, away.denial?.code, away.denial?.details],
    ['skipped', 'capability_disabled', { lifecycle: 'unavailable', retry_after_s: 30 }],
  )
  assert.equal(seen.length, limits.breakerFailuresMax)
  isUp = true
  clock.advance(limits.breakerOpenMs)
  assert.equal((await call({}, 'depot.post')).outcome, 'success')
})

test('callers who take their calls back do not switch a server off; its silence does [H-90 H-25]', async () => {
  const { origin, seen } = await givenServer(() => undefined)
  const slow = operation(post.request, { timeout_s: 0.05 })
  const { host, call, capabilities } = await given(origin, [get, slow])
  for (let count = 1; count <= limits.breakerFailuresMax; count++) {
    const back = new AbortController()
    const envelope = { capability_id: 'depot.get', payload: {} }
    const calling = host.gateway.invoke(anyone, envelope, { chunk: () => undefined, signal: back.signal })
    while (seen.length < count) await new Promise(setImmediate)
    back.abort()
    assert.equal((await calling).result.error?.code, 'cancelled')
  }
  const hindrance = () => capabilities[0]?.hindrance?.()
  assert.equal(hindrance(), undefined)
  for (let count = 0; count < limits.breakerFailuresMax; count++)
    assert.equal((await call({}, 'depot.post')).error?.code, 'timeout')
  while (hindrance() === undefined) await new Promise(setImmediate)
})

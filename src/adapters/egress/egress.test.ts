import assert from 'node:assert/strict'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { selfSigned } from '../../../test/support/certificate.ts'
import { deadPort, givenServer, givenTcp } from '../../../test/support/upstream.ts'
import { reachOf } from './allow-list.ts'
import { openEgress } from './egress.ts'

const ok = async () => await givenServer((response) => response.end('here'))

test('a private address is reached if its origin or its range is listed, and not otherwise [H-90]', async () => {
  const { origin, port, seen } = await ok()
  for (const allow of [[origin], ['127.0.0.0/8'], ['127.0.0.1'], [`http://localhost:${port}`, origin]])
    assert.equal(await (await openEgress({ allow }).fetch(origin)).text(), 'here')
  const count = seen.length
  const refusing = [undefined, [], ['*.localhost'], ['localhost'], ['10.0.0.0/8'], ['http://127.0.0.1:1'], ['::/0']]
  for (const allow of refusing)
    await assert.rejects(openEgress(allow && { allow }).fetch(origin), { code: 'egress_refused', effect: 'none' })
  assert.equal(seen.length, count)
})

test.each([
  ...['http://2130706433', 'http://0x7f000001', 'http://0177.0.0.1', 'http://127.1', 'http://127.0.0.1.'],
  ...['http://0', 'http://0.0.0.0', 'http://169.254.169.254/latest/meta-data', 'http://[::1]', 'http://[::]'],
  ...['http://[::ffff:127.0.0.1]', 'http://[::127.0.0.1]', 'http://[64:ff9b::7f00:1]', 'http://[2002:7f00:1::]'],
  ...['http://[fe80::1]', 'http://[fd00::1]', 'http://[ff02::1]', 'http://100.64.0.1', 'http://10.0.0.1'],
  ...['http://172.31.255.255', 'http://192.168.0.1', 'http://224.0.0.1', 'http://255.255.255.255', 'http://198.18.0.1'],
  ...['http://localhost', 'http://①②⑦.⓪.⓪.①', 'http://[2001::1]', 'http://[::ffff:a9fe:a9fe]'],
  ...['ftp://example.com', 'file:///etc/passwd', 'data:,a', 'http://user:word@example.com', 'http://', 'no address'],
])('no request goes to %s [H-90]', async (url) => {
  await assert.rejects(openEgress().fetch(url), { name: 'UpstreamError', code: 'egress_refused', effect: 'none' })
})

test('an address is public only if it lies in no range that is kept for something else [H-90]', () => {
  const number = fc.integer({ min: 0, max: 2 ** 32 - 1 })
  const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
  const cut = (value: number, bits: number) => (bits === 0 ? 0 : (value >>> (32 - bits)) << (32 - bits)) >>> 0
  const kept: readonly [string, number, string][] = [
    ...(['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'] as const).map(
      readRange('private'),
    ),
    ...(
      ['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15'] as const
    ).map(readRange('special')),
    ...(['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'] as const).map(readRange('special')),
  ]
  const near = fc
    .tuple(fc.constantFrom(...kept), fc.integer({ min: -2, max: 2 }))
    .map(([[base], by]) => (numberOf(base) + by) >>> 0)
  const reference = (value: number) => kept.find(([base, bits]) => cut(value, bits) === numberOf(base))?.[2] ?? 'public'
  fc.assert(
    fc.property(fc.oneof(number, near), (value) => {
      assert.equal(reachOf(dotted(value)), reference(value))
      for (const form of [`::ffff:${dotted(value)}`, `::${dotted(value)}`, `64:ff9b::${dotted(value)}`])
        assert.notEqual(reachOf(form), 'public')
    }),
  )
  for (const address of ['2606:4700::1111', '2a00:1450:4001::1']) assert.equal(reachOf(address), 'public')
  for (const address of ['fe80::1%eth0', '2606:4700::1%lo', 'localhost', '', '1.2.3'])
    assert.equal(reachOf(address), 'special')
  function readRange(reach: string) {
    return (range: string): [string, number, string] => {
      const [base = '', bits] = range.split('/')
      return [base, Number(bits), reach]
    }
  }
  function numberOf(address: string): number {
    return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  }
})

test('a name is checked by where it leads when it is connected to, each time [H-90]', async () => {
  const { port, seen } = await ok()
  let answers = ['127.0.0.1']
  const lookup = async () => answers
  const named = `http://api.example:${port}`
  for (const allow of [undefined, ['api.example'], ['*.example']])
    await assert.rejects(openEgress({ lookup, ...(allow && { allow }) }).fetch(named), {
      code: 'egress_refused',
      effect: 'none',
    })
  assert.equal(seen.length, 0)
  const listed = openEgress({ lookup, allow: [named] })
  assert.equal(await (await listed.fetch(named)).text(), 'here')
  assert.equal(seen[0]?.headers.host, `api.example:${port}`)
  // The origin is listed, but no name may lead to the metadata of a cloud.
  answers = ['169.254.169.254', '::ffff:169.254.169.254', 'fe80::1%eth0', 'localhost']
  await assert.rejects(openEgress({ lookup, allow: [named] }).fetch(named), { code: 'egress_refused' })
  answers = []
  await assert.rejects(openEgress({ lookup, allow: [named] }).fetch(named), { code: 'dns_failed', effect: 'none' })
})

test('of the addresses of a name only those are used that may be [H-90]', async () => {
  const { port } = await ok()
  const lookup = async () => ['10.255.255.1', '127.0.0.1', '169.254.169.254']
  const egress = openEgress({ lookup, allow: ['127.0.0.0/8'] })
  assert.equal(await (await egress.fetch(`http://api.example:${port}`)).text(), 'here')
})

test('a name that is not on the list is not even looked up [H-90]', async () => {
  const lookup = () => assert.fail('was looked up')
  const egress = openEgress({ lookup, allow: ['https://api.example', '*.depot.example', 'one.example'] })
  for (const url of [
    'http://api.example',
    'https://api.example:444',
    'https://depot.example',
    'https://two.one.example',
  ])
    await assert.rejects(egress.fetch(url), { code: 'egress_refused' })
})

test.each([
  '',
  '*',
  '*.',
  '**.example',
  'http://a.example/path',
  'http://u@a.example',
  'ftp://a.example',
  'a b',
  '10.0.0.0/33',
  '10.0.0.0/a',
  '1/2/3',
  'a.example:80',
  'http://',
  'fe80::1%eth0',
])('a list with %j is refused [H-90]', (entry) => {
  expect(() => openEgress({ allow: [entry] })).toThrow(expect.objectContaining({ code: 'config.invalid' }))
})

test('a body goes out as text or bytes, and comes back piece by piece [H-90]', async () => {
  const { origin, seen } = await givenServer(async (response, { body }) => {
    response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], 'x-a': 'ä'.normalize() })
    response.write(`1:${body}`)
    await released
    response.end('2')
  })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { fetch } = openEgress({ allow: [origin] })
  const bodies = ['text', new TextEncoder().encode('text')]
  const answers = await Promise.all(
    bodies.map((body) =>
      fetch(`${origin}/a?b=c`, {
        method: 'post',
        body,
        headers: { 'x-mine': '1', host: 'other', 'content-length': '9' },
      }),
    ),
  )
  const readers = answers.map(({ body }) => body?.getReader())
  for (const reader of readers) assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), '1:text')
  release()
  for (const reader of readers) assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), '2')
  assert.deepEqual(answers[0]?.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal(answers[0]?.status, 201)
  for (const { method, url, headers, body } of seen) {
    assert.deepEqual(
      [method, url, body, headers['x-mine'], headers['accept-encoding']],
      ['POST', '/a?b=c', 'text', '1', 'identity'],
    )
    assert.equal(`http://${headers.host}`, origin)
  }
})

test('a body goes out whole with every method, and nothing with none [H-90]', async () => {
  const { origin, seen } = await ok()
  const { fetch } = openEgress({ allow: [origin] })
  for (const method of ['DELETE', 'PUT', 'OPTIONS']) {
    await (await fetch(origin, { method, body: 'a=b' })).text()
    await (await fetch(origin, { method, body: new TextEncoder().encode('a=b') })).text()
    await (await fetch(origin, { method })).text()
  }
  assert.deepEqual([...new Set(seen.map(({ body }) => body))], ['a=b', ''])
  await assert.rejects(fetch(origin, { method: 'POST', body: new FormData() }), {
    code: 'egress_refused',
    effect: 'none',
  })
})

test('connections are kept, and one that the server just closed fails no read [H-90]', async () => {
  let closing = false
  const { origin, connections } = await givenServer((response) => {
    if (closing && response.socket) {
      closing = false
      return response.socket.destroy()
    }
    return response.end('here')
  })
  const { fetch } = openEgress({ allow: [origin] })
  const get = async () => await (await fetch(origin)).text()
  for (let count = 0; count < 3; count++) assert.equal(await get(), 'here')
  assert.equal(connections(), 1)
  closing = true
  assert.equal(await get(), 'here')
  await get()
  closing = true
  await assert.rejects(fetch(origin, { method: 'POST' }), { code: 'no_answer', effect: 'unknown' })
})

test('nothing was sent if no server is there, or none that can prove who it is [H-90]', async () => {
  const dead = `http://127.0.0.1:${await deadPort()}`
  const { port } = await givenTcp('HTTP/1.1 200 OK\r\n\r\n')
  const { fetch } = openEgress({ allow: ['127.0.0.1'] })
  await assert.rejects(fetch(dead, { method: 'POST' }), { code: 'connect_failed', effect: 'none' })
  await assert.rejects(fetch(`https://127.0.0.1:${port}`, { method: 'POST' }), { code: 'tls_failed', effect: 'none' })
})

test('a server over TLS is reached if its certificate is good, whatever the environment says [H-90]', async () => {
  const tls = selfSigned()
  const { origin, port, seen } = await givenServer((response) => response.end('here'), tls)
  const { fetch } = openEgress({ allow: ['127.0.0.1'], lookup: async () => ['127.0.0.1'] })
  setFor('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  await assert.rejects(fetch(origin, { method: 'POST' }), { code: 'tls_failed', effect: 'none' })
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, tls.cert])
  onTestFinished(() => setDefaultCACertificates(before))
  assert.equal(await (await fetch(origin)).text(), 'here')
  assert.equal(await (await fetch(`https://localhost:${port}`)).text(), 'here')
  await assert.rejects(fetch(`https://other.example:${port}`), { code: 'tls_failed', effect: 'none' })
  assert.equal(seen.length, 2)
})

test.each([
  null,
  'nonsense\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n',
  'HTTP/1.1 999 X\r\n\r\n',
  'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
])('it was sent, and %j is no answer: the effect is unknown [H-90]', async (says) => {
  const { origin } = await givenTcp(says)
  await assert.rejects(openEgress({ allow: [origin] }).fetch(origin, { method: 'POST' }), {
    code: 'no_answer',
    effect: 'unknown',
  })
})

test('who stops waiting is told whether it was sent [H-90]', async () => {
  const { origin, seen } = await givenServer(() => arrived.resolve())
  const arrived = Promise.withResolvers<void>()
  const { fetch } = openEgress({ allow: [origin] })
  const before = AbortSignal.abort()
  await assert.rejects(fetch(origin, { method: 'POST', signal: before }), { code: 'cancelled', effect: 'none' })
  assert.equal(seen.length, 0)
  const during = new AbortController()
  const asked = fetch(origin, { method: 'POST', signal: during.signal })
  await arrived.promise
  during.abort()
  await assert.rejects(asked, { code: 'cancelled', effect: 'unknown' })
})

test('who stops reading an endless answer ends it [H-90]', async () => {
  const closed = Promise.withResolvers<void>()
  const { origin } = await givenServer((response) => {
    response.on('close', closed.resolve)
    const more = () => {
      while (response.writable && response.write('x'.repeat(65_536)));
      response.once('drain', more)
    }
    more()
  })
  const { fetch } = openEgress({ allow: [origin] })
  const stopping = new AbortController()
  const answer = await fetch(origin, { signal: stopping.signal })
  const reader = answer.body?.getReader()
  await reader?.read()
  stopping.abort()
  await closed.promise
  await assert.rejects(async () => {
    for (;;) if ((await reader?.read())?.done) return
  })
})

test('a redirect is followed within its origin alone, thrice at most, and only where nothing was changed [H-90]', async () => {
  const other = await ok()
  const { origin, seen } = await givenServer((response, { url }) => {
    const left = Number(url.slice(1))
    if (left === 0) return response.end('here')
    const to =
      { 7: other.origin, 8: 'http://169.254.169.254/', 9: `http://u:p@${origin.slice(7)}/0` }[left] ?? `/${left - 1}`
    return response.writeHead(302, { location: to }).end()
  })
  const { fetch } = openEgress({ allow: [origin, other.origin] })
  const headers = { authorization: 'Bearer tok-1' }
  assert.equal(await (await fetch(`${origin}/3`, { headers })).text(), 'here')
  for (const path of ['/4', '/7', '/8', '/9'])
    await assert.rejects(fetch(origin + path, { headers }), { code: 'redirect_refused', effect: 'unknown' })
  await assert.rejects(fetch(`${origin}/1`, { method: 'POST' }), { code: 'redirect_refused', effect: 'unknown' })
  assert.equal(other.seen.length, 0)
  assert(seen.every((request) => request.headers.authorization === 'Bearer tok-1' || request.method === 'POST'))
})

test('what is compressed is not taken [H-90]', async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000))
  const { origin } = await givenServer((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
  await assert.rejects(openEgress({ allow: [origin] }).fetch(origin), { code: 'encoding_refused' })
})

test('a proxy of the environment is not used [H-90]', async () => {
  const { origin } = await ok()
  const dead = `http://127.0.0.1:${await deadPort()}`
  setFor('HTTP_PROXY', dead)
  setFor('http_proxy', dead)
  setFor('NODE_USE_ENV_PROXY', '1')
  assert.equal(await (await openEgress({ allow: [origin] }).fetch(origin)).text(), 'here')
})

/** Sets a variable of the environment for one test. */
function setFor(name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  onTestFinished(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
}

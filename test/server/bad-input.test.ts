import assert from 'node:assert/strict'
import { connect as dial } from 'node:net'
import { describe, test, vi } from 'vitest'
import { conformanceCapabilities } from '../../src/chp/conformance.ts'
import { defineCapability } from '../../src/runtime/hosting/offer.ts'
import { servedServer } from '../support/serve.ts'
import { sharedKey } from '../support/server.ts'

const echo = { capability_id: 'conformance.echo' }
const deep = (levels: number) =>
  `{"capability_id":"conformance.echo","payload":{"value":${'['.repeat(levels)}${']'.repeat(levels)}}}`
const utf8 = (text: string) => new TextEncoder().encode(text)

describe('bad input gets the answer that the table has for it, over a real connection [H-74 H-80]', () => {
  const canary = 'canary-0815'
  test.each([
    ['not JSON', `{"a": ${canary}}`, 'invalid_json'],
    ['nothing', '', 'invalid_json'],
    ['not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'invalid_json'],
    ['a byte-order mark', new Uint8Array([0xef, 0xbb, 0xbf, ...utf8('{}')]), 'invalid_json'],
    ['a list', '[]', 'bad_request'],
    ['text', `"${canary}"`, 'bad_request'],
    ['a number', '4711', 'bad_request'],
    ['null', 'null', 'bad_request'],
    ['a key twice', `{"capability_id":"${canary}","capability_id":"b"}`, 'invalid_json'],
    ['an escaped key twice', '{"a":1,"\\u0061":2}', 'invalid_json'],
    ['65 levels', deep(64), 'invalid_json'],
    ['thousands of levels', deep(100_000), 'invalid_json'],
    [
      'an integer beyond 2^53',
      '{"capability_id":"conformance.echo","payload":{"value":9007199254740993}}',
      'invalid_json',
    ],
    ['a number beyond all', '{"capability_id":"conformance.echo","payload":{"value":1e999}}', 'invalid_json'],
    ['a lone surrogate', '{"capability_id":"conformance.echo","payload":{"value":"\\ud800"}}', 'invalid_json'],
    ['`__proto__` as a name', '{"capability_id":"conformance.echo","__proto__":{"x":1}}', 'invalid_json'],
    ['no capability', '{}', 'bad_request', 'capability_id'],
    ['an empty capability', '{"capability_id":""}', 'bad_request', 'capability_id'],
    ['a capability that is a number', '{"capability_id":7}', 'bad_request', 'capability_id'],
    ['an unknown member', `{"capability_id":"conformance.echo","extra":"${canary}"}`, 'bad_request', 'extra'],
    ['a payload that is text', `{"capability_id":"conformance.echo","payload":"${canary}"}`, 'bad_request', 'payload'],
    ['a mode that is an object', '{"capability_id":"conformance.echo","mode":{}}', 'bad_request', 'mode'],
    [
      'an id of 257',
      `{"capability_id":"conformance.echo","invocation_id":"${'x'.repeat(257)}"}`,
      'bad_request',
      'invocation_id',
    ],
    [
      'an id with a control character',
      '{"capability_id":"conformance.echo","invocation_id":"a\\u0000b"}',
      'bad_request',
      'invocation_id',
    ],
    [
      'a correlation id with a line feed',
      '{"capability_id":"conformance.echo","correlation":{"correlation_id":"a\\nb"}}',
      'bad_request',
      'correlation_id',
    ],
    [
      'an environment that is none',
      `{"capability_id":"conformance.echo","correlation":{"environment":"${canary}"}}`,
      'bad_request',
      'environment',
    ],
  ] as const)('%s', async (_, raw, code, member: string = '') => {
    const { ask } = await servedServer()
    const { status, body, text } = await ask('POST', '/invoke', { raw })
    assert.deepEqual([status, body.error.code], [400, code])
    assert(body.error.message.includes(member))
    assert.doesNotMatch(text, new RegExp(canary))
    assert.equal((await ask('GET', '/metrics')).text.includes('outcome="success"'), false)
  })

  test('a body over the limit is refused while it is still being sent, other types and methods at once', async () => {
    const { ask, url } = await servedServer()
    const announced = await halfSent(url, `content-length: ${2 ** 40}`, 'x')
    assert.match(announced, /^HTTP\/1\.1 413 .*"code":"too_large"/s)
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    assert.match(
      await halfSent(url, 'transfer-encoding: chunked', chunk.repeat(18)),
      /^HTTP\/1\.1 413 .*"code":"too_large"/s,
    )
    assert.equal((await ask('POST', '/invoke', { raw: 'x', headers: { 'content-type': 'text/xml' } })).status, 415)
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      assert.equal((await ask(method, '/invoke')).status, 405)
  })

  test.each([
    ['announced', 'content-length: 100', '{"capability_id":'],
    ['in chunks', 'transfer-encoding: chunked', '2\r\n{"\r\n'],
  ])('a sender who hangs up in the middle of a body that is %s has sent a bad one', async (_, header, body) => {
    const { ask, url } = await servedServer()
    const socket = dial(Number(new URL(url).port), '127.0.0.1')
    socket.write(headOf(url, header) + body)
    await vi.waitFor(async () => assert.match((await ask('GET', '/metrics')).text, /requests_in_flight 2/))
    socket.destroy()
    const counted = /requests_total\{route="\/invoke",status="400"\} 1/
    await vi.waitFor(async () => assert.match((await ask('GET', '/metrics')).text, counted))
  })

  test.each([
    ['announced', 'content-length: 100', '{"capability_id":'],
    ['in chunks', 'transfer-encoding: chunked', '2\r\n{"\r\n'],
  ])('a sender who does not go on with a body that is %s is answered, and keeps no place', async (_, header, body) => {
    const { ask, url } = await servedServer({ limits: { bodyMs: 100 } })
    assert.match(await halfSent(url, header, body), /^HTTP\/1\.1 408 .*connection: close.*"code":"body_late"/is)
    assert.match((await ask('GET', '/metrics')).text, /requests_in_flight 1/)
  })

  test.each([
    ['a blank capability', { capability_id: ' ' }, 'capability_not_found'],
    ['an unknown capability', { capability_id: 'nobody' }, 'capability_not_found'],
    ['an unknown version', { ...echo, version: '9.9.9' }, 'capability_not_found'],
    ['an unreadable range', { ...echo, requested_capability_version: '>>1' }, 'capability_version_unsupported'],
    ['an unknown mode', { ...echo, mode: 'telepathy' }, 'unsupported_mode'],
    ['a malformed mandate', { ...echo, mandate: { kind: 'mandate', scope: 7 } }, 'mandate_invalid'],
    ['an empty mandate', { ...echo, mandate: {} }, 'mandate_invalid'],
    ['a malformed grant', { capability_id: 'conformance.approval', approval_ref: { kind: 'x' } }, 'approval_required'],
    ['grants that are none', { capability_id: 'conformance.approval', approval_ref: [{}, {}] }, 'approval_required'],
    [
      'a fraction where people may be asked',
      { capability_id: 'conformance.approval', payload: { value: 0.5 } },
      'invariant_failed',
    ],
  ])('%s is denied by a gate', async (_, body, code) => {
    const { ask } = await servedServer()
    const answered = await ask('POST', '/invoke', { body })
    assert.deepEqual([answered.status, answered.body.outcome, answered.body.denial?.code], [200, 'denied', code])
  })

  test.each([
    ['a time that is none', { ...echo, requested_at: 'yesterday' }],
    ['a time far off', { ...echo, requested_at: '9999-12-31T23:59:59Z' }],
    ['an asserted identity', { ...echo, subject: { id: 'root', verified: true, roles: ['admin'], type: 'mandate' } }],
    ['an identity that is none', { ...echo, subject: { id: { a: 1 } } }],
    ['a fraction', { ...echo, payload: { value: 0.1 } }],
    ['names of an object’s own', { ...echo, payload: { value: { constructor: 1, prototype: 2, toString: 3 } } }],
  ])('%s is kept or dropped, and the call goes on', async (_, body) => {
    const { ask } = await servedServer()
    const { body: result } = await ask('POST', '/invoke', { body })
    assert.equal(result.outcome, 'success')
    assert.deepEqual(result.data, { echo: (body as { payload?: { value: unknown } }).payload?.value ?? null })
    const { events } = (await ask('GET', `/replay/${result.correlation.correlation_id}`)).body
    for (const { subject } of events) assert.deepEqual([subject.verified, subject.roles], [false, undefined])
  })

  test('a handler that returns a cycle, or something that is no JSON, has failed', async () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const odd = [cycle, () => 1, 10n, new Map(), Number.NaN, Symbol('x')].map((value, index) =>
      defineCapability(
        { id: `odd.v${index}`, version: '1.0.0', description: 'Odd.', policy: { auth_required: false } },
        () => value as unknown,
      ),
    )
    const { ask } = await servedServer({ offer: { capabilities: odd } })
    for (const { descriptor } of odd) {
      const { body } = await ask('POST', '/invoke', { body: { capability_id: descriptor.id } })
      assert.deepEqual([body.outcome, body.error.code], ['failure', 'invalid_result'], descriptor.id)
    }
  })

  test('a store that is gone before the call is 503 and nothing ran; after the effect nobody knows', async () => {
    let ran = 0
    let during: () => Promise<void> = async () => undefined
    const work = defineCapability(
      { id: 'depot.work', version: '1.0.0', description: 'Works.', policy: { auth_required: false } },
      async () => {
        ran++
        await during()
        return 'done'
      },
    )
    const { ask, ambit } = await servedServer({
      offer: { capabilities: [work, ...conformanceCapabilities], reserved: ['conformance.'] },
    })
    // The store is closed while the handler runs, without waiting for it: what comes after finds none.
    during = async () => void ambit.store.close()
    const { status, body } = await ask('POST', '/invoke', { body: { capability_id: 'depot.work' } })
    assert.deepEqual(
      [status, body.outcome, body.error.code, body.error.effect],
      [200, 'indeterminate', 'outcome_not_recorded', 'done'],
    )
    const late = await ask('POST', '/invoke', { body: { capability_id: 'depot.work' } })
    assert.deepEqual(
      [late.status, late.body.error.code, late.headers.get('retry-after')],
      [503, 'server_at_capacity', '1'],
    )
    assert.equal(ran, 1)
  })
})

/** What is answered to a request of which only the beginning is sent. */
function halfSent(url: string, header: string, body: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = dial(Number(port), hostname)
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('error', (error) => (text.includes('\r\n\r\n') ? resolve(text) : reject(error)))
    socket.on('data', (bytes) => {
      text += bytes
      if (/\}\}?$/.test(text)) {
        socket.destroy()
        resolve(text)
      }
    })
    socket.write(headOf(url, header) + body)
  })
}

const headOf = (url: string, header: string): string =>
  `POST /invoke HTTP/1.1\r\nhost: ${new URL(url).hostname}\r\nx-chp-key: ${sharedKey}\r\ncontent-type: application/json\r\n${header}\r\n\r\n`

import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { givenServer, requestOf } from '../../test/support/server.ts'
import type { Json } from '../base/canonical.ts'
import { tenantId } from '../model/identity/tenant-id.ts'
import type { WireError } from '../model/wire/wire.ts'
import { defineCapability } from '../runtime/hosting/offer.ts'
import { openConcurrencyLimit } from './rate-limits.ts'

const tenant = tenantId('northlight')

/** A capability that speaks once and then goes on until it is let go. */
function speaking() {
  const gate = Promise.withResolvers<void>()
  const capability = defineCapability(
    { id: 'depot.speak', version: '1.0.0', description: 'Speaks.', modes: ['sync', 'stream'], policy: {} },
    async function* (): AsyncGenerator<Json, Json, undefined> {
      yield 'a'
      await gate.promise
      return null
    },
  )
  return { capability, end: gate.resolve }
}

const called = (era: 'legacy' | 'modern') => {
  const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const modern = { ...version, 'io.modelcontextprotocol/clientCapabilities': {} }
  const _meta = { progressToken: 1, ...(era === 'modern' && modern) }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'depot_speak' }
  return {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'depot_speak', arguments: {}, _meta } },
    headers: { accept: 'application/json, text/event-stream', ...(era === 'modern' && headers) },
  }
}

test.each(['legacy', 'modern'] as const)(
  '%s: an MCP call that streams keeps its place until it has ended [H-80]',
  async (era) => {
    const { capability, end } = speaking()
    const { app, ask } = await givenServer({ offer: { capabilities: [capability] }, limits: { requestsAtOnceMax: 2 } })
    const speak = (key: string) => app.fetch(requestOf('http://localhost', 'POST', '/mcp', { key, ...called(era) }))
    const first = await speak('key-of-alice')
    assert.equal(first.headers.get('content-type'), 'text/event-stream')
    const second = await speak('key-of-bob')
    const other = await ask('GET', '/capabilities', { key: 'key-of-alice' })
    assert.deepEqual([other.status, other.body.error.code], [503, 'server_at_capacity'])
    end()
    for (const answer of [first, second]) assert.match(await answer.text(), /"result"/)
    await vi.waitFor(async () => assert.equal((await ask('GET', '/capabilities')).status, 200))
  },
)

test('one caller takes no more than its share of the places, and everybody is told that the host is there [H-80]', async () => {
  const { app, ask } = await givenServer({ limits: { requestsAtOnceMax: 4, bodyMs: 200 } })
  let unread = 0
  const waiting = (key: string) => {
    const raw = new ReadableStream<Uint8Array>({
      start: (out) => out.enqueue(new TextEncoder().encode('{')),
      cancel: () => void unread++,
    })
    return app.fetch(requestOf('http://localhost', 'POST', '/invoke', { key, raw }))
  }
  const hogging = [waiting('key-of-bob'), waiting('next-key-of-bob'), waiting('key-of-bob')]
  const more = await waiting('key-of-bob')
  assert.deepEqual([more.status, more.headers.get('retry-after')], [429, '1'])
  assert.equal((await ask('GET', '/capabilities', { key: 'key-of-alice' })).status, 200)
  const alice = waiting('key-of-alice')
  assert.equal((await ask('GET', '/capabilities')).status, 503)
  for (const path of ['/', '/health', '/.well-known/chp-identity'])
    assert.equal((await ask('GET', path, { key: null })).status, 200)
  // Who sends no more of a body has its place for a while only.
  for (const late of await Promise.all([...hogging, alice])) {
    const { error } = (await late.json()) as WireError
    assert.deepEqual([late.status, error], [408, { code: 'body_late', message: 'the body took more than 200 ms' }])
  }
  assert.equal(unread, 4)
  assert.equal((await ask('GET', '/capabilities', { key: 'key-of-bob' })).status, 200)
})

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [4, 3],
  [1024, 768],
])('of %i places one caller takes %i [H-80]', (atOnceMax, most) => {
  const limit = openConcurrencyLimit(atOnceMax)
  const places = Array.from({ length: atOnceMax }, () => limit.enter())
  const got = places.filter((place) => place?.assign(tenant, 'bob'))
  assert.equal(got.length, most)
  got[0]?.leave()
  assert.equal(limit.enter()?.assign(tenant, 'bob'), true)
})

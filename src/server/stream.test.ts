import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { test, vi } from 'vitest'
import { givenServer, requestOf } from '../../test/support/server.ts'
import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import { defineCapability } from '../runtime/hosting/offer.ts'

const streaming = (invocation_id?: string) => ({
  capability_id: 'conformance.stream',
  mode: 'stream',
  ...(invocation_id !== undefined && { invocation_id }),
})

interface Frame {
  readonly id: number
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly data: any
}

const framesOf = (text: string): Frame[] =>
  [...text.matchAll(/id: (\d+)\nevent: (\w+)\ndata: (.*)\n\n/g)].map(([, id, event = '', data = '']) => ({
    id: Number(id),
    event,
    data: JSON.parse(data),
  }))

test('a stream is numbered chunks and then one result, whose digest is in the evidence [H-64]', async () => {
  const { ask } = await givenServer()
  const answer = await ask('POST', '/invoke', { body: streaming() })
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const frames = framesOf(answer.text)
  const deltas = [{ delta: 's1' }, { delta: 's2' }, { delta: 's3' }]
  assert.deepEqual(
    frames.slice(0, 3),
    deltas.map((data, id) => ({ id, event: 'chunk', data })),
  )
  const last = frames[3]
  assert.deepEqual(
    [frames.length, last?.id, last?.event, last?.data.data],
    [4, 3, 'result', { chunks: 3, joined: 's1s2s3' }],
  )
  const { body } = await ask('GET', `/replay/${last?.data.correlation.correlation_id}`)
  const { payload } = body.events.at(-1)
  assert.deepEqual([payload.chunk_count, typeof payload.chunk_seq_digest], [3, 'string'])
  assert.doesNotMatch(JSON.stringify(body), /s1s2s3|"s1"/)
})

test('what is decided before the first chunk is plain JSON, and a stream called plainly is its result [H-64]', async () => {
  const silent = defineCapability(
    {
      id: 'depot.silent',
      version: '1.0.0',
      description: 'Says nothing.',
      modes: ['stream'],
      policy: { auth_required: false },
    },
    // biome-ignore lint/correctness/useYield: a stream without chunks is what this is about
    async function* () {
      return { done: true }
    },
  )
  const { ask } = await givenServer()
  const { ask: askSilent } = await givenServer({ offer: { capabilities: [silent] } })
  const refused = await ask('POST', '/invoke', { body: { capability_id: 'conformance.echo', mode: 'stream' } })
  assert.deepEqual([refused.body.outcome, refused.body.denial.code], ['denied', 'unsupported_mode'])
  const quiet = await askSilent('POST', '/invoke', { body: { capability_id: 'depot.silent', mode: 'stream' } })
  assert.deepEqual(quiet.body.data, { done: true })
  const plain = await ask('POST', '/invoke', { body: { capability_id: 'conformance.stream' } })
  assert.deepEqual(plain.body.data, { chunks: 3, joined: 's1s2s3' })
  assert.equal((await ask('POST', '/invoke', { body: { ...streaming(), nonsense: 1 } })).status, 400)
})

test('a repeat gets the recorded chunks, from the one after the last that was heard, as its caller alone [H-65]', async () => {
  const { ask } = await givenServer()
  const at = async (lastId?: string, key = 'key-of-alice') =>
    ask('POST', '/invoke', {
      key,
      body: streaming('inv_1'),
      ...(lastId !== undefined && { headers: { 'last-event-id': lastId } }),
    })
  const first = framesOf((await at()).text)
  const { events } = (await ask('GET', `/replay/${first[3]?.data.correlation.correlation_id}`)).body
  const again = [...first.slice(0, 3), { ...first[3], data: { ...first[3]?.data, replayed: true } }]
  assert.deepEqual(framesOf((await at()).text), again)
  assert.deepEqual(framesOf((await at('0')).text), again.slice(1))
  assert.deepEqual(framesOf((await at('2')).text), again.slice(3))
  for (const start of ['no number', '-1', '1.5', '', '99999999999999999999'])
    assert.deepEqual(framesOf((await at(start)).text), again)
  for (const end of ['3', '4', '999']) assert.deepEqual((await at(end)).body, again[3]?.data)
  const other = framesOf((await at('1', 'key-of-bob')).text)
  assert.equal(other.length, 4)
  assert.equal(other[3]?.data.replayed, undefined)
  assert.equal(
    (await ask('GET', `/replay/${first[3]?.data.correlation.correlation_id}`)).body.events.length,
    events.length,
  )
})

test('a call runs to its end after its listener has left, and its result can be read later [H-65]', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = defineCapability(
    { id: 'depot.slow', version: '1.0.0', description: 'Waits.', modes: ['stream'], policy: { auth_required: false } },
    async function* (): AsyncGenerator<Json, Json, undefined> {
      yield 1
      await gate.promise
      yield 2
      return 'whole'
    },
  )
  const { app, ask } = await givenServer({ offer: { capabilities: [slow] } })
  const body = { capability_id: 'depot.slow', mode: 'stream', invocation_id: 'inv_slow' }
  const response = await app.fetch(requestOf('http://localhost', 'POST', '/invoke', { body }))
  const reader = response.body?.getReader()
  assert.match(new TextDecoder().decode((await reader?.read())?.value), /^id: 0\nevent: chunk\ndata: \{"delta":1\}/)
  await reader?.cancel()
  gate.resolve()
  for (;;) {
    const { status } = await ask('GET', '/v1/invocations/inv_slow')
    if (status === 200) break
    await pause(5)
  }
  const heard = framesOf((await ask('POST', '/invoke', { body, headers: { 'last-event-id': '0' } })).text)
  assert.deepEqual(
    heard.map(({ event, data }) => data.delta ?? [event, data.data]),
    [2, ['result', 'whole']],
  )
})

test('a reader who does not read gets the beginning alone, within a limit, and the call runs to its end [H-65 H-80]', async () => {
  const delta = 'x'.repeat(500_000)
  const chatty = defineCapability(
    {
      id: 'depot.chatty',
      version: '1.0.0',
      description: 'Talks.',
      modes: ['stream'],
      policy: { auth_required: false },
    },
    async function* (): AsyncGenerator<Json, Json, undefined> {
      for (let n = 0; n < 40; n++) yield delta
      return 'whole'
    },
  )
  const { app, ask } = await givenServer({ offer: { capabilities: [chatty] } })
  const body = { capability_id: 'depot.chatty', mode: 'stream', invocation_id: 'inv_chatty' }
  const response = await app.fetch(requestOf('http://localhost', 'POST', '/invoke', { body }))
  const result = await vi.waitFor(async () => {
    const answer = await ask('GET', '/v1/invocations/inv_chatty')
    assert.equal(answer.status, 200)
    return answer.body
  })
  assert.equal(result.data, 'whole')
  const heard = framesOf(await response.text())
  assert.equal(heard.length, Math.floor(limits.unreadStreamBytesMax / 500_050))
  assert(heard.every(({ event }) => event === 'chunk'))
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { build } from 'rolldown'
import { test } from 'vitest'
import { type GivenServer, givenServer, sharedKey } from '../../test/support/server.ts'
import { projectRoot } from '../../test/support/source.ts'
import { addApprover } from '../runtime/identity/approvers.ts'
import { operator } from '../runtime/identity/caller.ts'
import { connect, connectHost, type HostClient, type StreamEvent } from './index.ts'

const clientOf = ({ app }: GivenServer, key: string = sharedKey): HostClient =>
  connectHost({ url: 'http://localhost/', key, fetch: (input, init) => app.fetch(new Request(input as string, init)) })

const ambitOf = ({ app }: GivenServer, key: string = sharedKey) =>
  connect('http://localhost/', key, { fetch: (input, init) => app.fetch(new Request(input as string, init)) })

const all = async (events: AsyncIterable<StreamEvent>): Promise<unknown[]> => {
  const seen: unknown[] = []
  for await (const event of events) seen.push(event.type === 'chunk' ? event.delta : event.result.data)
  return seen
}

test('a client calls, reads and checks; a denial is a result, and what was no call a failure with a code [H-74]', async () => {
  const server = await givenServer()
  const client = clientOf(server)
  const result = await client.invoke({ capability_id: 'conformance.echo', payload: { value: 1 } })
  const { correlation_id } = result.correlation
  assert.deepEqual([result.success, result.data], [true, { echo: 1 }])
  assert.equal((await client.invoke({ capability_id: 'conformance.risky' })).denial?.code, 'policy_blocked')
  const ambit = ambitOf(server)
  assert.equal((await ambit.preview('conformance.risky')).gate, '6')
  assert.deepEqual(await ambit.invocations.show(result.invocation_id), result)
  assert.deepEqual((await client.capabilities()).length, (await client.host()).capabilities.length)
  assert.equal((await client.replay(correlation_id)).event_count, 5)
  assert.equal((await client.replay({ correlation_id, limit: 2 })).truncated, true)
  assert.equal((await client.verify(correlation_id)).valid, true)
  assert.equal((await client.export(correlation_id)).events.length, 5)
  assert.equal((await client.head()).host_id, (await client.health()).host_id)
  assert.deepEqual(
    [await client.witnesses(), await client.anchors(), await client.revocations()],
    [{ witnesses: [] }, { anchors: [] }, { keys: [], mandates: [] }],
  )
  await assert.rejects(client.verify('no/body'), { name: 'Failure', code: 'correlation.not_found' })
  await assert.rejects(client.invoke({ capability_id: '' }), { code: 'field.invalid', message: /capability_id/ })
  await assert.rejects(ambit.approvals.show('apr_1'), { code: 'approval.not_found' })
  await assert.rejects(client.witness({} as never), { code: 'witness.invalid' })
  await assert.rejects(clientOf(server, 'wrong').host(), { code: 'unauthenticated' })
  await assert.rejects(connectHost({ url: 'http://127.0.0.1:1' }).health(), { code: 'host.unreachable' })
  const page = connectHost({ url: 'http://localhost', fetch: async () => new Response('<html>') })
  await assert.rejects(page.health(), { code: 'answer.invalid' })
})

test('people find and decide what waits for them [H-53]', async () => {
  const server = await givenServer()
  const jo = ambitOf(server, await server.keyOf({ id: 'jo', kind: 'user' }))
  await addApprover(server.ambit, operator(server.host.tenant), { principal: 'jo', roles: [] })
  const call = { capability_id: 'conformance.approval', invocation_id: 'inv_1' }
  await clientOf(server).invoke(call)
  const { approvals } = await jo.approvals.list({ state: 'pending', limit: 5 })
  const [request] = approvals
  assert(request)
  assert.deepEqual(await jo.approvals.show(request.approval_id), request)
  assert.equal((await jo.approvals.decide(request.approval_id, 'deny', { rationale: 'no' })).state, 'denied')
  assert.equal((await clientOf(server).invoke(call)).denial?.details?.['reason'], 'approval_denied')
})

test('a stream gives every chunk once and then the result, however often the connection breaks [H-65]', async () => {
  const server = await givenServer()
  const whole = ['s1', 's2', 's3', { chunks: 3, joined: 's1s2s3' }]
  const call = { capability_id: 'conformance.stream' }
  assert.deepEqual(await all(clientOf(server).stream(call)), whole)
  for (const cut of [0, 1, 30, 60, 100, 130, 200, 400]) {
    const asked: (string | null)[] = []
    const broken: typeof fetch = async (input, init) => {
      const response = await server.app.fetch(new Request(input as string, init))
      asked.push(new Headers(init?.headers).get('last-event-id'))
      return asked.length > 2 ? response : cutAfter(response, cut)
    }
    const client = connectHost({ url: 'http://localhost', key: sharedKey, fetch: broken })
    assert.deepEqual(await all(client.stream(call)), whole, `cut after ${cut} bytes: ${asked}`)
  }
  assert.deepEqual(await all(clientOf(server).stream({ capability_id: 'conformance.echo' })), [null])
  const lost = connectHost({ url: 'http://localhost', fetch: async () => Promise.reject(new TypeError('gone')) })
  await assert.rejects(all(lost.stream(call, { resumesMax: 1 })), { code: 'host.unreachable' })
  const abort = AbortSignal.abort(new Error('enough'))
  await assert.rejects(all(lost.stream(call, { signal: abort })), /enough/)
})

/** The same answer, whose body ends in an error after so many bytes. */
function cutAfter(response: Response, bytes: number): Response {
  const body = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      const whole = new Uint8Array(await response.arrayBuffer())
      if (bytes > 0) controller.enqueue(whole.slice(0, bytes))
      controller.error(new TypeError('terminated'))
    },
  })
  return new Response(body, { headers: response.headers })
}

test('the client is bundled for a browser without anything of Node [H-64]', async () => {
  const warnings: string[] = []
  const { output } = await build({
    input: join(projectRoot, 'src/client/index.ts'),
    write: false,
    platform: 'browser',
    onLog: (_, { message }) => warnings.push(message),
  })
  const text = output[0].code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
  assert.deepEqual(warnings, [])
  assert.doesNotMatch(text, /node:|\bBuffer\b|\bprocess\b|\brequire\b|\bZod/)
  assert(text.length < 30_000, `${text.length} characters`)
})

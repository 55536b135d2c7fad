import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { readFrames } from '../../src/client/http.ts'
import { readFences } from '../../src/fence/read.ts'
import type { DecisionRecord } from '../../src/model/contract/decision.ts'
import type { RunEvent } from '../../src/model/run.ts'
import { createApp } from '../../src/server/app.ts'
import { listen } from '../../src/server/listen.ts'
import { assertFits } from '../support/fits.ts'
import { givenInvoked } from '../support/invoked.ts'
import { httpClient, textOf } from '../support/mcp-client.ts'
import { comparable } from '../support/records.ts'
import { ended } from '../support/runs.ts'

const trusted = { safety_mode: 'delegated' as const }
const small = { amount_minor: 4_000 }

/** The stock keeper's host with a server in front of it, and the key of its administrator. */
async function givenDoors(...given: Parameters<typeof givenInvoked>) {
  const invoked = await givenInvoked(...given)
  const { ambit, runtime, hosts } = invoked
  const app = createApp({ ambit: runtime, hosts, access: { open: false, keys: [] } })
  onTestFinished(() => app.close())
  await ambit.principals.create('root', { kind: 'user', roles: ['admin'] })
  const { secret } = await ambit.keys.create('root')
  const post = (body: unknown, headers: Record<string, string> = {}, key = secret) =>
    app.fetch(
      new Request('http://host/v1/invoke', {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'x-chp-key': key, ...headers },
      }),
    )
  const ask = async (body: unknown, headers?: Record<string, string>) => {
    const response = await post(body, headers)
    const text = await response.text()
    assertFits('POST', '/v1/invoke', response.status, response.headers.get('content-type'), text)
    return { status: response.status, headers: response.headers, body: JSON.parse(text) }
  }
  const fetchApp: typeof fetch = (url, init) => app.fetch(new Request(url as string, init as RequestInit))
  return { ...invoked, post, ask, app, secret, there: connect('http://host', secret, { fetch: fetchApp }) }
}

const framesOf = async (response: Response): Promise<readonly RunEvent[]> => {
  const events: RunEvent[] = []
  for await (const { event, data } of readFrames(response)) if (event === 'item') events.push(JSON.parse(data))
  return events
}

test('one request gives the same record through the library, over HTTP, by the client, in a stream and over MCP [R-01 R-24]', async () => {
  const { ambit, there, ask, post, request, app, secret } = await givenDoors()
  const asked = (mode: 'batch' | 'stream' = 'batch') => ({ request: request({ mode }, small), run_context: trusted })
  const here = await ambit.invokeAgent(request({}, small), { run_context: trusted })
  const { status, body, headers } = await ask(asked())
  assert.equal(status, 200)
  assert.equal(headers.get('location'), `/v1/runs/${body.run_id}`)
  const client = await there.invokeAgent(request({}, small), { run_context: trusted })
  const streamed = (await framesOf(await post(asked('stream')))).at(-1)
  assert.equal(streamed?.type, 'run.finished')
  const records = [here, body, client].map((answer) => answer.decision_record as DecisionRecord)
  records.push(streamed?.data['decision_record'] as unknown as DecisionRecord)
  const { url, close } = await listen(app, { port: 0 })
  onTestFinished(close)
  const mcp = await httpClient(url, '2026-07-28', { key: secret })
  const told = await mcp.callTool({ name: 'invoke_agent', arguments: asked() })
  const read = readFences(textOf(told))
  const fenced = read.ok ? read.fences[0]?.text : undefined
  records.push((JSON.parse(fenced ?? assert.fail()) as { decision_record: DecisionRecord }).decision_record)
  const [first, ...others] = records.map(comparable)
  assert.equal(records[0]?.status, 'DECIDED')
  for (const other of others) assert.deepEqual(other, first)
})

test('a stream is the events of the run in their order, goes on after Last-Event-ID, and ends with the record [R-22]', async () => {
  const { post, ask, there, request } = await givenDoors()
  const asked = { request: request({ mode: 'stream' }, small), run_context: trusted }
  const response = await post(asked)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const events = await framesOf(response)
  assert.deepEqual(
    events.map(({ event_id }) => event_id),
    events.map((_, index) => index + 1),
  )
  const { run_id = '', data } = events.at(-1) ?? {}
  assert.deepEqual(data?.['decision_record'], JSON.parse(JSON.stringify(await there.decisions.show(run_id))))
  assert.deepEqual(await framesOf(await post(asked, { 'last-event-id': '4' })), events.slice(4))
  const watched: RunEvent[] = []
  for await (const event of there.runs.events(run_id, { since: 4 })) watched.push(event)
  assert.deepEqual(watched, events.slice(4))
  // A caller that takes JSON alone is told where to look.
  const plain = await ask(asked, { accept: 'application/json' })
  assert.deepEqual([plain.status, plain.body.events], [200, `/v1/runs/${run_id}/events`])
})

test('202 while a gate is pending and for a long run that goes on, 200 once it is settled [R-22]', async () => {
  const given = await givenDoors()
  const { ask, request } = given
  const boss = await given.approver('cora', ['controller'])
  const asked = { request: request(), run_context: trusted }
  const waiting = await ask(asked)
  assert.deepEqual([waiting.status, waiting.body.decision_record.status], [202, 'IN_FLIGHT'])
  for (const id of waiting.body.waits_for) await boss.approvals.decide(id, 'approve')
  await ended(given, waiting.body.run_id)
  const settled = await ask(asked)
  assert.deepEqual([settled.status, settled.body.run_id], [200, waiting.body.run_id])
  assert.equal(settled.body.decision_record.status, 'DECIDED')
  const long = await ask({ request: request({ mode: 'long_running' }, small), run_context: trusted })
  assert.deepEqual([long.status, long.body.heartbeat_ttl_ms], [202, 300_000])
})

test('a repeated request is the first run, through any door; another body under its id is refused [R-11]', async () => {
  const { ask, there, request, reached } = await givenDoors()
  const asked = { request: request({}, small), run_context: trusted }
  const first = await ask(asked)
  const [again, client] = [await ask(asked), await there.invokeAgent(asked.request, { run_context: trusted })]
  assert.deepEqual([again.body, JSON.parse(JSON.stringify(client))], [first.body, first.body])
  assert.equal(reached.get('adp_ledger.post_write_off'), 1)
  const other = { ...asked.request, input: { ...asked.request.input, message: 'Another one' } }
  const refused = await ask({ ...asked, request: other })
  assert.deepEqual([refused.status, refused.body.code], [409, 'request_id_conflict'])
})

test('what is refused before its run begins is one event, at each door alike [H-96]', async () => {
  const { ambit, there, ask, as, request } = await givenDoors()
  const refusals = async () =>
    (await ambit.evidence.list({ type: 'ambit.entry.refused' })).events.map(({ payload, subject }) => {
      const { route, code, status } = payload as Record<string, unknown>
      return [subject?.id, route, code, status].join(' ')
    })
  const bad = request({ context_pack_refs: ['ctxpack.none@1.0.0'] })
  await assert.rejects(ambit.invokeAgent(bad), { code: 'pack.not_found' })
  const here = ['operator /v1/invoke pack_not_found 404']
  assert.deepEqual(await refusals(), here)
  await assert.rejects(ambit.invokeAgent({ ...bad, mode: 'fast' as never }), { code: 'field.invalid' })
  await assert.rejects(ambit.runs.start('nobody'), { code: 'agent.not_found' })
  assert.deepEqual((await refusals()).slice(0, 2), [
    'operator /v1/runs agent_not_found 404',
    'operator /v1/invoke field_invalid 400',
  ])
  assert.equal((await ask({ request: bad })).status, 404)
  assert.equal((await refusals()).length, 4)
  assert.equal((await refusals())[0], 'root /v1/invoke pack_not_found 404')
  const kim = await as('kim')
  await assert.rejects(kim.runs.start('nobody'), { code: 'agent.not_found' })
  assert.equal((await refusals())[0], 'kim /v1/runs agent_not_found 404')
  // What is asked and let in, or only looks, leaves none.
  await there.invokeAgent(request({}, small), { run_context: trusted })
  await assert.rejects(ambit.runs.show('run_0000000000000000'))
  assert.equal((await refusals()).length, 5)
})

test('over MCP a request to an agent is a tool for those whose key is for it, where a pack is published [H-100]', async () => {
  const { ambit, app, as, request } = await givenDoors()
  const { url, close } = await listen(app, { port: 0 })
  onTestFinished(close)
  const toolsOf = async (key: string) => {
    const client = await httpClient(url, '2025-11-25', { key })
    return { client, names: (await client.listTools()).tools.map(({ name }) => name) }
  }
  await as('kim')
  const keyFor = async (...scopes: string[]) => (await ambit.keys.create('kim', { scopes })).secret
  for (const scopes of [[], ['agent.invoke'], ['agent.*']])
    assert((await toolsOf(await keyFor(...scopes))).names.includes('invoke_agent'), scopes.join())
  const { client, names } = await toolsOf(await keyFor('adp_stock.lookup'))
  assert.deepEqual(names, ['adp_stock_lookup'])
  const unknown = await client.callTool({ name: 'invoke_agent', arguments: {} })
  assert.equal(unknown.isError, true, textOf(unknown))
  const limited = await ambit.withKey(await keyFor('adp_stock.lookup'))
  await assert.rejects(limited.invokeAgent(request()), { code: 'caller.not_permitted' })
  // What is refused there is said, and on record, as at any other door.
  const { client: mine } = await toolsOf(await keyFor('agent.invoke'))
  await assert.rejects(mine.callTool({ name: 'invoke_agent', arguments: { request: request() } }), /its own user/)
  const { events } = await ambit.evidence.list({ type: 'ambit.entry.refused' })
  assert.deepEqual(
    events.map(({ subject, payload }) => [subject?.id, (payload as { code?: unknown }).code]),
    [
      ['kim', 'caller_not_permitted'],
      ['kim', 'caller_not_permitted'],
    ],
  )
})

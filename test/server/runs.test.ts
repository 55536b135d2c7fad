import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { Failure, shown } from '../../src/base/failure.ts'
import { connect } from '../../src/client/connect.ts'
import type { RunEvent, RunRecord } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import { addApprover } from '../../src/runtime/identity/approvers.ts'
import { operator } from '../../src/runtime/identity/caller.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { testAgents, testCapabilities } from '../support/agents.ts'
import { type AskOptions, type GivenServer, givenServer, requestOf, sharedKey } from '../support/server.ts'

/** A server with agents, the key of one who may mint, and of one who may decide about payments. */
async function givenRuns(options: Parameters<typeof givenServer>[0] = {}) {
  const { agents, model } = testAgents()
  const server = await givenServer({ offer: { capabilities: testCapabilities }, agents, roots: ['acme'], ...options })
  const key = await server.keyOf({ id: 'gran', kind: 'service', roles: ['grantor', 'auditor'] })
  const ida = await server.keyOf({ id: 'ida', kind: 'user' })
  await addApprover(server.ambit, operator(server.host.tenant), { principal: 'ida', roles: [] })
  return { ...server, model, key, gran: clientOf(server, key), ida: clientOf(server, ida), idaKey: ida }
}

const clientOf = ({ app }: Pick<GivenServer, 'app'>, key: string): Ambit =>
  connect('http://localhost', key, { fetch: (input, init) => app.fetch(new Request(input as string, init)) })

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

interface Frame {
  readonly id: string
  readonly event: string
  readonly data: RunEvent | null
}

const framesIn = (text: string): Frame[] =>
  text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(frame) ?? assert.fail(frame)
      return { id, event, data: JSON.parse(data) as Frame['data'] }
    })

describe('runs over HTTP [G-70]', () => {
  test('each run, child or root, has one record and its events in order [G-70]', async () => {
    const { ask, key, gran } = await givenRuns()
    const body = { agent: 'clerk', input: 'call agent_helper {"input":"call nobody {}"}', context: ['acme/eu'] }
    const { status, headers, body: started } = await ask('POST', '/v1/runs', { key, body })
    assert.deepEqual([status, headers.get('location')], [201, `/v1/runs/${started.run_id}`])
    const frames = framesIn((await ask('GET', `/v1/runs/${started.run_id}/events`, { key })).text)
    const events = frames.flatMap(({ data }) => data ?? [])
    assert.deepEqual(
      frames.map(({ id }) => Number(id)),
      [...events.map((_, index) => index + 1), events.length],
    )
    assert.deepEqual(
      events.map(({ event_id }) => event_id),
      events.map((_, index) => index + 1),
    )
    assert.equal(frames.at(-1)?.event, 'end')
    const { runs } = (await ask('GET', `/v1/runs?root=${started.run_id}`, { key })).body as { runs: RunRecord[] }
    const [child, root] = runs
    assert(child && root && runs.length === 2)
    assert.deepEqual([root.status, child.status, child.agent_id, child.depth], ['completed', 'completed', 'helper', 1])
    assert.deepEqual([child.parent_run_id, child.root_run_id], [root.run_id, root.run_id])
    for (const record of runs) {
      assert.deepEqual((await ask('GET', `/v1/runs/${record.run_id}`, { key })).body, record)
      const own = events.filter(({ run_id }) => run_id === record.run_id)
      assert.deepEqual([own.at(0)?.type, own.at(-1)?.type], ['run.started', 'run.finished'])
      assert.deepEqual(own.at(-1)?.data['status'], record.status)
      if (record === child) assert.deepEqual(await all(gran.runs.events(child.run_id)), own)
    }
    assert.deepEqual(await all(gran.runs.events(root.run_id)), events)
  })

  test('the same request id starts one run; another body under it is refused [G-70 G-75]', async () => {
    const { ask, key, gran } = await givenRuns()
    const start = (input: string, id: string) =>
      ask('POST', '/v1/runs', { key, body: { agent: 'helper', input }, headers: { 'idempotency-key': id } })
    const first = await start('hello', 'once')
    const again = await start('hello', 'once')
    assert.deepEqual([again.status, again.body.run_id], [201, first.body.run_id])
    assert.equal(first.body.request_id, 'once')
    const other = await start('good bye', 'once')
    assert.deepEqual([other.status, other.body.code], [409, 'request_conflict'])
    assert.notEqual((await start('good bye', 'twice')).body.run_id, first.body.run_id)
    assert.equal((await gran.runs.list()).runs.length, 2)
  })

  test('events go on after any of them, by header or by query [G-70]', async () => {
    const { ask, key, gran } = await givenRuns()
    const run = await gran.run('clerk', 'call test_look {}')
    await run.result()
    const path = `/v1/runs/${run.id}/events`
    const whole = framesIn((await ask('GET', path, { key })).text)
    for (let since = 0; since < whole.length; since++) {
      const rest = whole.slice(since)
      assert.deepEqual(
        framesIn((await ask('GET', `${path}?since=${since}`, { key })).text).slice(0, -1),
        rest.slice(0, -1),
      )
      const headers = { 'last-event-id': String(since) }
      assert.deepEqual(framesIn((await ask('GET', path, { key, headers })).text).slice(0, -1), rest.slice(0, -1))
    }
    for (const bad of ['x', '-1', '1.5', '9'.repeat(30)]) {
      assert.equal((await ask('GET', `${path}?since=${bad}`, { key })).body.code, 'field_invalid')
      assert.equal((await ask('GET', path, { key, headers: { 'last-event-id': bad } })).body.code, 'field_invalid')
    }
  })

  test('a client reads each event once, however often the connection breaks [G-70 G-72]', async () => {
    const { app, key, gran } = await givenRuns()
    const run = await gran.run('clerk', 'call test_look {}')
    const events = await all(run.events())
    const { length } = await (
      await app.fetch(requestOf('http://localhost', 'GET', `/v1/runs/${run.id}/events`, { key }))
    ).text()
    for (const cut of [0, 1, length >> 2, length >> 1, length - 60, length - 10]) {
      let asked = 0
      const broken: typeof fetch = async (input, init) => {
        const response = await app.fetch(new Request(input as string, init))
        return ++asked > 2 ? response : cutAfter(response, cut, asked === 1)
      }
      const seen = await all(connect('http://localhost', key, { fetch: broken }).runs.events(run.id))
      assert.deepEqual(seen, events, `cut after ${cut}`)
    }
    const refused = all(
      connect('http://localhost', 'wrong', {
        fetch: (url, init) => app.fetch(new Request(url as string, init)),
      }).runs.events(run.id),
    )
    await assert.rejects(refused, { code: 'unauthenticated' })
  })

  test('a run that waits for people goes on when they have decided, and ends when it is cancelled [G-70]', async () => {
    const { gran, ida } = await givenRuns()
    const paid = await gran.run('clerk', 'call test_pay {"cents":5}')
    const { status, waits_for } = await paid.settled()
    assert.deepEqual([status, waits_for.length], ['paused', 1])
    await ida.approvals.decide(waits_for[0] ?? '', 'approve')
    assert.match(String((await paid.result()).result), /^done: .*"cents":5/s)
    const left = await gran.run('clerk', 'call test_pay {"cents":6}')
    await left.settled()
    await left.cancel()
    assert.equal((await left.result()).status, 'cancelled')
    await assert.rejects(left.cancel(), { code: 'run.finished', data: { status: 409, id: left.id } })
    await assert.rejects(gran.runs.resume(left.id), { code: 'run.finished' })
  })
})

/** The same answer, whose body ends after so many bytes: in an error, or as if it were whole. */
function cutAfter(response: Response, bytes: number, inError: boolean): Response {
  const body = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      const whole = new Uint8Array(await response.arrayBuffer())
      if (bytes > 0) controller.enqueue(whole.slice(0, bytes))
      inError ? controller.error(new TypeError('terminated')) : controller.close()
    },
  })
  return new Response(body, { headers: response.headers })
}

test('only a credential that may mint can name grants, however few; nothing is begun [G-22]', async () => {
  const { ask, keyOf, key, gran } = await givenRuns()
  const keys = {
    named: 'key-of-alice',
    plain: await keyOf({ id: 'pat', kind: 'user' }),
    auditor: await keyOf({ id: 'otto', kind: 'user', roles: ['auditor'] }),
    scoped: await keyOf({ id: 'sue', kind: 'user', roles: ['admin'] }, ['agent.*']),
  }
  for (const [name, key] of Object.entries(keys))
    for (const context of [['acme/eu'], [], null, 'acme', ['*']]) {
      const { status, body } = await ask('POST', '/v1/runs', { key, body: { agent: 'clerk', input: 'hi', context } })
      assert.deepEqual([status, body.code], [403, 'grant_not_mintable'], `${name} ${context}: ${body.detail}`)
      assert.equal(body.detail, 'this credential cannot set grants')
    }
  const shared = await ask('POST', '/v1/runs', { key: sharedKey, body: { agent: 'clerk', context: ['acme/eu'] } })
  assert.deepEqual([shared.status, shared.body.code], [401, 'unauthenticated'])
  assert.deepEqual((await gran.runs.list()).runs, [])
  const minting = [
    key,
    await keyOf({ id: 'ada', kind: 'user', roles: ['admin'] }),
    await keyOf({ id: 'gus', kind: 'agent', roles: ['grantor'] }, ['agent.clerk']),
  ]
  for (const key of minting) {
    const { body } = await ask('POST', '/v1/runs', { key, body: { agent: 'clerk', input: 'hi', context: ['acme/eu'] } })
    assert.deepEqual(
      body.grants.map(({ path }: { path: string }) => path),
      ['acme/eu'],
    )
  }
  const without = await ask('POST', '/v1/runs', { key: keys.plain, body: { agent: 'clerk', input: 'hi' } })
  assert.deepEqual([without.status, without.body.grants], [201, []])
})

describe('bad input [G-75]', () => {
  test('a tenant without roots holds no grants [G-75]', async () => {
    const { ask, key } = await givenRuns({ roots: [] })
    const { status, body } = await ask('POST', '/v1/runs', { key, body: { agent: 'clerk', context: ['acme'] } })
    assert.deepEqual([status, body.code, body.detail], [403, 'grant_no_root', 'this tenant has no namespace root'])
  })

  test('what is no request is refused at every route of runs, before anything is looked for [G-75]', async () => {
    const { ask, gran, keyOf } = await givenRuns()
    const key = await keyOf({ id: 'ada', kind: 'user', roles: ['admin'] })
    const run = await gran.run('clerk', 'call test_pay {}')
    await run.settled()
    const id = `/v1/runs/${run.id}`
    const memory = '/v1/memory/mem_0000000000000000'
    const posts = [
      '/v1/runs',
      `${id}/control`,
      `${id}/resume`,
      '/v1/grants/revoke',
      `${memory}/forget`,
      '/v1/memory/erase',
    ]
    const gets = ['/v1/runs', id, `${id}/events`, '/v1/memory?scope=acme', memory, '/v1/agents']
    const deep = `${'['.repeat(65)}${']'.repeat(65)}`
    const raw: readonly (readonly [status: number, code: string, options: AskOptions])[] = [
      [400, 'json_invalid', { raw: '{' }],
      [400, 'json_invalid', { raw: '{"a":1,"a":2}' }],
      [400, 'json_invalid', { raw: '{"context":["acme/\\ud800"]}' }],
      [400, 'json_invalid', { raw: new Uint8Array([0x22, 0xff, 0x22]) }],
      [400, 'json_invalid', { raw: deep }],
      [413, 'payload_too_large', { raw: `"${'x'.repeat(1024 * 1024)}"` }],
      [415, 'media_unsupported', { raw: '{}', headers: { 'content-type': 'text/plain' } }],
      [400, 'field_invalid', { raw: '[]' }],
      [400, 'field_unknown', { raw: '{"agent":"clerk","by":"run","target":"x","scope":"acme","nobody_knows":1}' }],
    ]
    const ways = [
      ...posts.flatMap((path) =>
        raw.map(([status, code, options]) => ({ method: 'POST', path, status, code, options })),
      ),
      ...[...posts.map((path) => ['POST', path] as const), ...gets.map((path) => ['GET', path] as const)].flatMap(
        ([method, path]) =>
          [null, 'wrong'].map((key) => ({
            ...{ method, path, status: 401, code: 'unauthenticated' },
            options: { key, ...(method === 'POST' && { raw: '{' }) },
          })),
      ),
      ...['x', '-1', '1.5', '9'.repeat(30)].map((since) => ({
        ...{ method: 'GET', path: `${id}/events?since=${since}`, status: 400, code: 'field_invalid', options: {} },
      })),
      {
        method: 'POST',
        path: `${id}/control`,
        status: 400,
        code: 'field_invalid',
        options: { raw: '{"control":"pause"}' },
      },
    ]
    for (const { method, path, status, code, options } of ways) {
      const answer = await ask(method, path, { key, ...options })
      const place = `${method} ${path} ${JSON.stringify(options).slice(0, 80)}: ${answer.text}`
      assert.deepEqual([answer.status, answer.body.code], [status, code], place)
      assert.equal(answer.headers.get('content-type'), 'application/problem+json')
    }
    assert.equal((await gran.runs.show(run.id)).status, 'paused')
  })
})

test('trouble of a model or a provider has its own code and words, where other trouble inside is `internal` [G-75]', async () => {
  const failed = new Failure('model.failed', 'model `m`: status 400', { retryable: false })
  const broken = defineAgent({ id: 'broken', kind: 'tool', run: () => assert.fail('the password is hunter2') })
  const { agents = [] } = testAgents().agents
  const { gran } = await givenRuns({
    agents: { agents: [...agents, broken], models: { default: scriptedModel([failed]) } },
  })
  const errorOf = async (agent: string) => (await (await gran.run(agent, 'hi')).result()).error
  assert.deepEqual(await errorOf('helper'), { code: 'model_failed', message: 'model `m`: status 400' })
  assert.deepEqual(await errorOf('broken'), { code: 'internal', message: 'something went wrong inside' })
  for (const code of ['model.limited', 'resource.scope_violation', 'resource.provider_timeout'] as const)
    assert.equal(shown(new Failure(code, 'resource `memory` failed')).message, 'resource `memory` failed')
  assert.match(shown(new Failure('store.busy', 'the file is locked')).message, /cannot take this now/)
})

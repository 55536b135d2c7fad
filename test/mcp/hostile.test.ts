import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openEgress } from '../../src/adapters/egress/egress.ts'
import { discoverTools } from '../../src/adapters/mcp/discover.ts'
import { importTools } from '../../src/adapters/mcp/import.ts'
import { Failure } from '../../src/base/failure.ts'
import { secretValue } from '../../src/keys/secrets.ts'
import { anyone, stillClock } from '../support/host.ts'
import {
  acceptedHostile,
  acceptedOf,
  ending,
  type GivenMcp,
  givenMcp,
  givenNotes,
  hostile,
  type Revision,
  root,
  script,
  textOf,
  until,
} from '../support/mcp.ts'
import { isLong } from '../support/sweep.ts'
import { deadPort, givenServer } from '../support/upstream.ts'

// Only the newer revision has results that are no object, and answers that want input. Only in the older may a server ask.
type Ended = readonly [way: string, outcome: string, code: string | null, effect: string | null]
const ofOne: Record<Revision, readonly Ended[]> = {
  older: [
    ['answers a bare list', 'failure', 'invalid_answer', 'unknown'],
    ['wants input', 'failure', 'invalid_answer', 'unknown'],
    ['asks for sampling', 'failure', 'input_required', 'unknown'],
  ],
  newer: [
    ['answers a bare list', 'success', null, null],
    ['wants input', 'failure', 'input_required', 'unknown'],
  ],
}

describe.each(['older', 'newer'] as const)('a program in the %s revision that [H-90]', (revision) => {
  const program = (way: string, file?: string) => hostile(way, file, revision)
  // To wait is the same in both.
  const waiting = test.runIf(isLong || revision === 'newer')

  test.each<Ended>([
    ['dies mid call', 'indeterminate', 'upstream_gone', 'unknown'],
    ['writes endless line', 'indeterminate', 'upstream_gone', 'unknown'],
    ['answers huge', 'indeterminate', 'upstream_gone', 'unknown'],
    ['answers much', 'success', null, null],
    ['answers too much', 'failure', 'invalid_result', 'unknown'],
    ['answers deep', 'failure', 'invalid_result', 'unknown'],
    ['answers nonsense', 'failure', 'invalid_answer', 'unknown'],
    ['logs much', 'success', null, null],
    ['begins a task', 'failure', 'invalid_answer', 'unknown'],
    ['floods notifications', 'indeterminate', 'upstream_gone', 'unknown'],
    ['floods long notifications', 'indeterminate', 'upstream_gone', 'unknown'],
    ['floods long nothings', 'indeterminate', 'upstream_gone', 'unknown'],
    ['floods answers', 'indeterminate', 'upstream_gone', 'unknown'],
    ['floods nothings', 'indeterminate', 'upstream_gone', 'unknown'],
    ['floods requests', 'indeterminate', 'upstream_gone', 'unknown'],
    ['keeps a helper', 'indeterminate', 'upstream_gone', 'unknown'],
    ...ofOne[revision],
  ])('%s ends the call as %s, %s', async (way, ...expected) => {
    const { tool } = await givenMcp(program(way), { accepted: await acceptedHostile() })
    assert.deepEqual(ending(await tool('work')), expected)
  })

  test.each([
    ['dies at start', 'it ended with code 7'],
    ['mute', 'it does not answer'],
    ['lists without end', 'it does not list its tools'],
  ])('%s is not available, and nothing was sent', async (way, why) => {
    const { tool, events } = await givenMcp(program(way), { accepted: await acceptedHostile(way === 'mute' ? 2 : 120) })
    const result = await tool('work')
    assert.deepEqual(ending(result), ['failure', 'unavailable', 'none'])
    assert.match(result.error?.message ?? '', new RegExp(why))
    assert.doesNotMatch(JSON.stringify(await events()), /test\/mcp/)
  })

  waiting('hangs is cut off at the end of the time', async () => {
    const { tool } = await givenMcp(program('hangs later'), { accepted: await acceptedHostile(4) })
    await until(async () => (await tool('work')).outcome === 'success')
    assert.deepEqual(ending(await tool('work')), ['indeterminate', 'timeout', 'unknown'])
  })

  test.each([
    ['greets', 'worked'],
    ['dies when probed', 'worked'],
    ['answers forged ids', 'true'],
  ])('%s is heard all the same', async (way, text) => {
    const { tool } = await givenMcp(program(way), { accepted: await acceptedHostile() })
    assert.equal(textOf(await tool('work')), text)
    assert.equal(textOf(await tool('work')), text)
  })

  waiting('hangs is not switched off by callers who take their calls back, and is when it lets them wait', async () => {
    const { path, notes } = await givenNotes()
    const patient = await givenMcp(program('hangs', path), { accepted: await acceptedHostile() })
    const called = async () => (await notes()).filter((note) => note === 'called').length
    for (let at = 1; at <= 5; at++) {
      const back = new AbortController()
      const envelope = { capability_id: 'mcp.given.work', payload: {} }
      const calling = patient.host.gateway.invoke(anyone, envelope, { chunk: () => undefined, signal: back.signal })
      await until(async () => (await called()) === at)
      back.abort()
      assert.equal((await calling).result.error?.code, 'cancelled')
    }
    const lifecycle = (given: GivenMcp) => given.host.gateway.discover({ scopes: [] } as never)[0]?.metadata?.lifecycle
    assert.equal(lifecycle(patient), 'invokable')
    const hasty = await givenMcp(program('hangs', path), { accepted: await acceptedHostile(2) })
    await Promise.all(Array.from({ length: 5 }, () => hasty.tool('work')))
    await until(() => lifecycle(hasty) === 'unavailable')
  })

  test('keeps dying is left alone for a while, then tried again', async () => {
    const clock = stillClock()
    const { tool, notices } = await givenMcp(program('dies mid call'), { accepted: await acceptedHostile(), clock })
    for (let at = 0; at < 5; at++) assert.equal((await tool('work')).outcome, 'indeterminate')
    const left = await tool('work')
    assert.deepEqual([left.outcome, left.denial?.code], ['skipped', 'capability_disabled'])
    assert.deepEqual(left.denial?.details, { lifecycle: 'unavailable', retry_after_s: 30 })
    clock.advance(31_000)
    assert.equal((await tool('work')).outcome, 'indeterminate')
    assert.deepEqual(notices.slice(0, 2), [
      'the server `given` is away: it ended with code 9',
      'the server `given` is back',
    ])
  })
})

describe('a server that [H-90]', () => {
  test('asks for something in the newer revision is not answered, and cut off at the end of the time', async () => {
    const { tool } = await givenMcp(hostile('asks for sampling', '', 'newer'), { accepted: await acceptedHostile(2) })
    assert.deepEqual(ending(await tool('work')), ['indeterminate', 'timeout', 'unknown'])
  })

  test('does not speak MCP cannot be looked at, and why is told', async () => {
    for (const [server, why] of [
      [hostile('dies at start'), /it ended with code 7$/],
      [hostile('lists without end'), /does not list its tools$/],
      [{ command: './no such program' }, /: `\.\/no such program` could not be started \(ENOENT\)$/],
      [{ url: `http://127.0.0.1:${await deadPort()}/mcp` }, /cannot be reached|not available/],
    ] as const)
      await assert.rejects(
        acceptedOf(server),
        (error) => error instanceof Failure && error.code === 'host.unreachable' && why.test(error.message),
      )
  })

  test('may not be reached cannot be looked at, and the entry to write is told', async () => {
    const server = { url: 'http://127.0.0.1:9/mcp' }
    const deps = { secret: () => assert.fail(), egress: openEgress(), folder: root }
    await assert.rejects(discoverTools({ name: 'notes', server }, deps), (error) => {
      assert(error instanceof Failure)
      assert.match(error.message, /^`http.*`: the server `notes` is not .*leads to an address that is not allowed$/)
      assert.match(error.help ?? '', /"egress": \{"allow":\["http:\/\/127\.0\.0\.1:9"\]\}/)
      return true
    })
  })

  test('does not know us cannot be looked at, and how it is told who we are', async () => {
    const { origin } = await givenServer((response) => response.writeHead(401).end())
    const deps = { secret: () => assert.fail(), egress: openEgress({ allow: [origin] }), folder: root }
    await assert.rejects(discoverTools({ name: 'notes', server: { url: `${origin}/mcp` } }, deps), (error) => {
      assert(error instanceof Failure)
      assert.match(error.message, /it answered with the status 401$/)
      assert.match(error.help ?? '', /`authorization: Bearer \{secret:NAME\}`/)
      return true
    })
  })

  test('repeats a secret in its list has those tools left out, and the secret is shown nowhere', async () => {
    const server = { ...hostile('acceptedHostile'), env: { TOLD: '{secret:told}' } }
    const secret = async (handle: string) => secretValue(handle, 'tok-1d2c3b4a')
    const found = await discoverTools({ name: 'given', server }, { secret, egress: openEgress(), folder: root })
    const { upstream, skipped } = importTools('given', server, found.tools)
    assert.deepEqual(
      upstream.capabilities.map(({ tool }) => tool),
      ['work'],
    )
    const reason = 'it repeats a secret that its server was given'
    assert.deepEqual(
      skipped.map((one) => one.reason),
      [reason, reason],
    )
    assert.doesNotMatch(JSON.stringify([found, upstream, skipped]), /1d2c3b4a/)
  })

  test('cannot be started is not available, and nothing was sent', async () => {
    const { tool } = await givenMcp({ command: './no such program' }, { accepted: await acceptedHostile() })
    const result = await tool('work')
    assert.deepEqual(ending(result), ['failure', 'unavailable', 'none'])
    assert.match(result.error?.message ?? '', /: `\.\/no such program` could not be started \(ENOENT\)$/)
  })

  test('is to be given a secret as an argument is not started: others could read it', async () => {
    const server = { command: 'never', args: ['--key', 'Bearer {secret:upstream}'] }
    const isRefused = (error: unknown) =>
      error instanceof Failure && error.code === 'upstream.invalid' && /`server\.args\[1\]`/.test(error.message)
    await assert.rejects(acceptedOf(server), isRefused)
    await assert.rejects(givenMcp(server, { accepted: await acceptedHostile() }), isRefused)
  })
})

test('200 calls at once over one connection each get their own answer [H-90]', async () => {
  const { path, pids } = await givenNotes()
  const { tool } = await givenMcp(script('test/mcp/stdio.ts', 'both'), { timeoutS: 120 })
  const sums = Array.from({ length: 200 }, (_, at) => tool('add', { a: at, b: 1000 }))
  for (const [at, result] of (await Promise.all(sums)).entries()) assert.equal(textOf(result), `${at + 1000}`)
  const shared = await givenMcp(hostile('acceptedHostile', path), { accepted: await acceptedHostile() })
  const all = await Promise.all(Array.from({ length: 200 }, () => shared.tool('work')))
  assert.ok(all.every((result) => textOf(result) === 'worked'))
  assert.equal((await pids()).length, 1)
})

test('a server that is killed while it works leaves the call indeterminate, and is started again [H-90]', async () => {
  const { path, notes, pids } = await givenNotes()
  const { tool, closeUpstream } = await givenMcp(hostile('hangs', path), {
    accepted: await acceptedHostile(),
  })
  const hanging = tool('work')
  await until(async () => (await notes()).includes('called'))
  const [first = 0] = await pids()
  process.kill(first, 'SIGKILL')
  assert.deepEqual(ending(await hanging), ['indeterminate', 'upstream_gone', 'unknown'])
  const again = tool('work')
  await until(async () => (await notes()).filter((note) => note === 'called').length === 2)
  assert.equal(new Set(await pids()).size, 2)
  await closeUpstream()
  assert.equal((await again).outcome, 'indeterminate')
})

describe('a server over HTTP that [H-90]', () => {
  type Answer = Parameters<typeof givenServer>[0]

  /** Speaks the newer revision as far as the call, which is answered by `answers`; or the older one, if it says so. */
  const givenBoth = async (
    answers: Answer,
    { isOlder = false, streams }: { isOlder?: boolean; streams?: Answer } = {},
  ) => {
    const server = await givenServer((response, seen) => {
      const { id, method } = JSON.parse(seen.body || '{}') as { id?: unknown; method?: string }
      if (method === 'tools/call') return answers(response, seen)
      if (seen.method === 'GET' && streams) return streams(response, seen)
      const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
      const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
      const offer = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
      const older = {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      }
      const tools = [{ name: 'work', description: 'Works.', inputSchema }]
      // What it is answered it never takes.
      if (method === undefined) return undefined
      if (id === undefined) return response.writeHead(202).end()
      const result = { ...(!isOlder && complete), ...(method === 'tools/list' ? { tools } : isOlder ? older : offer) }
      const unknown = isOlder && method === 'server/discover' && { error: { code: -32601, message: 'unknown' } }
      const answer = { jsonrpc: '2.0', id, ...(unknown || { result }) }
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    })
    return { server, ...(await givenMcp({ url: `${server.origin}/mcp` }, { accepted: await acceptedHostile() })) }
  }
  const given = (answers: Answer) => givenBoth(answers)
  const pour =
    (type: string, start: string, chunk: string): Answer =>
    (response) => {
      response.setHeader('content-type', type).write(start)
      const more = () => !response.destroyed && response.write(chunk.repeat(65_536 / chunk.length), more)
      more()
    }

  test.each<[string, Answer, string, string]>([
    ['answers without an end', pour('application/json', '{"jsonrpc":"', 'x'), 'indeterminate', 'answer_too_large'],
    ['sends an event without an end', pour('text/event-stream', 'data: ', 'x'), 'indeterminate', 'upstream_gone'],
    ['sends an event of many lines', pour('text/event-stream', '', 'data: x\n'), 'indeterminate', 'upstream_gone'],
    [
      'ends its stream early',
      (response) => response.setHeader('content-type', 'text/event-stream').end(': hi\n\n'),
      'indeterminate',
      'upstream_gone',
    ],
    ['answers with text', (response) => response.end('hello'), 'failure', 'invalid_answer'],
    [
      'answers with half of it',
      (response) => response.setHeader('content-type', 'application/json').end('{'),
      'failure',
      'invalid_answer',
    ],
    [
      'answers something else',
      (response) => response.setHeader('content-type', 'application/json').end('{"a":1}'),
      'failure',
      'invalid_answer',
    ],
    ['fails', (response) => response.writeHead(500).end('stack of the server'), 'failure', 'http_500'],
    ['wants to know who asks', (response) => response.writeHead(401).end(), 'failure', 'http_401'],
    [
      'sends us elsewhere',
      (response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      'indeterminate',
      'redirect_refused',
    ],
    ['hangs up', (response) => response.destroy(), 'indeterminate', 'no_answer'],
  ])('%s', async (_, answers, outcome, code) => {
    const { tool } = await given(answers)
    const result = await tool('work')
    assert.deepEqual([result.outcome, result.error?.code], [outcome, code])
    assert.doesNotMatch(result.error?.message ?? '', /stack/)
  })

  const events =
    (message: object): Answer =>
    (response) =>
      response
        .setHeader('content-type', 'text/event-stream')
        .write(
          Array.from(
            { length: 10_000 },
            (_, id) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: `x${id}`, ...message })}\n\n`,
          ).join(''),
        )

  test.each([
    [
      'asks for more than it listens to',
      { method: 'sampling/createMessage', params: {} },
      'does not take what it is answered',
    ],
    ['floods answers', { result: {} }, 'sent too many messages'],
    ['floods notifications', { id: undefined, method: 'notifications/message', params: {} }, 'sent too many messages'],
  ])('%s is cut off', async (_, message, why) => {
    const { tool, notices, server } = await givenBoth(events(message), { isOlder: true })
    assert.deepEqual(ending(await tool('work')), ['indeterminate', 'upstream_gone', 'unknown'])
    assert.deepEqual(notices, [`the server \`given\` is away: it ${why}`])
    assert.ok(server.connections() < 100, `${server.connections()} connections`)
  })

  test.each([
    [
      'floods long notifications',
      `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(800_000)}"}}\n\n`,
    ],
    ['floods long comments', `: ${'x'.repeat(800_000)}\n\n`],
    ['floods events that are no message', 'data: {}\n\n'.repeat(200)],
    ['floods events that are no JSON', 'data: x\n\n'.repeat(200)],
  ])('%s without end is cut off', async (_, chunk) => {
    const endless: Answer = (response) => {
      const more = () => !response.destroyed && response.write(chunk, more)
      response.setHeader('content-type', 'text/event-stream').write(': hi\n\n', more)
    }
    const { tool, notices } = await givenBoth(endless, { isOlder: true })
    assert.deepEqual(ending(await tool('work')), ['indeterminate', 'upstream_gone', 'unknown'])
    assert.deepEqual(notices, ['the server `given` is away: it sent too many messages'])
  })

  test('never ends the stream of a call is not listened to once nobody waits for it', async () => {
    let isOpen = false
    const { host } = await givenBoth(
      (response) => {
        isOpen = true
        response.on('close', () => {
          isOpen = false
        })
        response.setHeader('content-type', 'text/event-stream').write(': wait\n\n')
      },
      { isOlder: true },
    )
    const back = new AbortController()
    const envelope = { capability_id: 'mcp.given.work', payload: {} }
    const calling = host.gateway.invoke(anyone, envelope, { chunk: () => undefined, signal: back.signal })
    await until(() => isOpen)
    back.abort()
    assert.equal((await calling).result.error?.code, 'cancelled')
    await until(() => !isOpen)
  })

  test('writes lines without end that say nothing is cut off', async () => {
    const { tool } = await givenBoth(pour('text/event-stream', '', ':\n\n'))
    assert.deepEqual(ending(await tool('work')), ['indeterminate', 'upstream_gone', 'unknown'])
  })

  test('ends its stream at once and wants it opened again at once is asked ever less often', async () => {
    const streams: Answer = (response) =>
      response.setHeader('content-type', 'text/event-stream').end('retry: 0\nid: 1\ndata:\n\n')
    const { tool, server } = await givenBoth(
      (response, { body }) => {
        const { id } = JSON.parse(body) as { id: unknown }
        const result = { content: [{ type: 'text', text: 'worked' }] }
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      },
      { isOlder: true, streams },
    )
    assert.equal((await tool('work')).outcome, 'success')
    const gets = () => server.seen.filter(({ method }) => method === 'GET').length
    await until(() => gets() === 2)
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    assert.ok(gets() <= 4, `${gets()} requests`)
  })
})

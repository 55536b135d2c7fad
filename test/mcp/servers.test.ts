import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished, test } from 'vitest'
import type { McpUpstream } from '../../src/model/config/upstream.ts'
import { anyone } from '../support/host.ts'
import { ending, givenMcp, script, textOf, until } from '../support/mcp.ts'
import { isLong } from '../support/sweep.ts'
import { givenServer } from '../support/upstream.ts'
import { givenHttp } from './http.ts'

const token = 'tok-5b7e21c09d'
const withSecret = { secrets: { upstream: token } }

interface Way {
  readonly name: string
  readonly modern: boolean
  readonly open: () => Promise<McpUpstream['server']>
}

const stdio = (revisions: string, modern: boolean): Way => ({
  name: `stdio, ${revisions}`,
  modern,
  open: async () => ({
    ...(script('test/mcp/stdio.ts', revisions) as { command: string; args: string[] }),
    env: { UPSTREAM_TOKEN: 'Bearer {secret:upstream}' },
  }),
})

const http = (revisions: 'both' | 'modern' | 'legacy', modern: boolean): Way => ({
  name: `HTTP, ${revisions}`,
  modern,
  open: async () => ({
    url: (await givenHttp(revisions)).url,
    headers: { authorization: 'Bearer {secret:upstream}' },
  }),
})

const ways = [
  ...[stdio('both', true), stdio('modern', true), stdio('legacy', false)],
  ...[http('both', true), http('modern', true), http('legacy', false)],
]

for (const way of ways)
  describe(`an MCP server over ${way.name}, behind the gateway [H-90]`, () => {
    // Once over each transport, and once in each revision.
    const waiting = test.runIf(isLong || ['stdio, both', 'HTTP, legacy'].includes(way.name))

    test('its tools are capabilities, and their answers are data', async () => {
      const { tool } = await givenMcp(await way.open(), withSecret)
      assert.deepEqual((await tool('add', { a: 1.5, b: 2 })).data, {
        content: [{ type: 'text', text: '3.5' }],
        structuredContent: { sum: 3.5 },
      })
      assert.deepEqual((await tool('picture')).data, {
        content: [
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          { type: 'resource', resource: { uri: 'file:///a', text: 'inside' } },
        ],
      })
    })

    test('an input that does not fit is refused here, and what the tool says of its own error is told', async () => {
      const { tool } = await givenMcp(await way.open(), withSecret)
      assert.equal((await tool('add', { a: 'x' })).denial?.code, 'input_schema_validation_failed')
      const failed = await tool('fails', { text: `no \u001b[31mway\nfor ${token}` })
      assert.deepEqual(ending(failed), ['failure', 'tool_error', 'unknown'])
      assert.equal(failed.error?.message, 'no [31mway')
    })

    test('the trace of the call goes on, and a secret that comes back goes no further', async () => {
      const { call, events, tool } = await givenMcp(await way.open(), withSecret)
      const traceId = '0af7651916cd43dd8448eb211c80319c'
      const correlation = { correlation_id: 'cor_1', trace_id: traceId }
      const payload = { text: `my ${token}` }
      const result = await call(anyone, { capability_id: 'mcp.given.echo', payload, correlation })
      assert.equal(result.outcome, 'success')
      assert.match(textOf(result), new RegExp(`"traceparent":"00-${traceId}-[0-9a-f]{16}-01"`))
      const failed = await tool('fails', { text: `it is ${token}` })
      assert.match(failed.error?.message ?? '', /^it is /)
      assert.doesNotMatch(JSON.stringify([result, failed, await events()]), /5b7e21c/)
    })

    test('who asks for more than the input gets nothing', async () => {
      const { tool } = await givenMcp(await way.open(), withSecret)
      const asked = await tool('asks')
      assert.equal(asked.outcome, 'failure')
      if (way.modern) assert.equal(asked.error?.code, 'input_required')
    })

    waiting('a call that takes too long is cut off, and nobody knows what became of it', async () => {
      const { tool } = await givenMcp(await way.open(), { ...withSecret, timeoutS: 2 })
      await until(async () => (await tool('add', { a: 1, b: 1 })).outcome === 'success')
      assert.deepEqual(ending(await tool('slow')), ['indeterminate', 'timeout', 'unknown'])
      assert.equal((await tool('add', { a: 1, b: 1 })).outcome, 'success')
    })
  })

test('what an MCP server offers comes from there, and may reach out, be it a program [H-90]', async () => {
  for (const server of [script('test/mcp/stdio.ts', 'both'), { url: (await givenHttp('both')).url }]) {
    const { host } = await givenMcp(server)
    const [found] = host.gateway.discover({ scopes: [] } as never)
    assert.deepEqual([found?.metadata?.origin, found?.metadata?.network], ['mcp:given', 'external'])
  }
})

describe('a server over HTTP [H-90]', () => {
  test('is sent what the file says, with every secret in its place, and again when a secret changes', async () => {
    const server = await givenHttp('modern')
    const headers = { authorization: 'Bearer {secret:upstream}' }
    const { tool, setSecret } = await givenMcp(
      { url: server.url, headers, query: { v: '{secret:upstream}' } },
      withSecret,
    )
    await tool('add', { a: 1, b: 1 })
    const last = () => server.seen.findLast(({ headers: sent }) => sent.get('mcp-method') === 'tools/call')
    assert.equal(last()?.headers.get('authorization'), `Bearer ${token}`)
    assert.equal(new URL(last()?.url ?? '').searchParams.get('v'), token)
    await setSecret('upstream', 'tok-another')
    assert.equal((await tool('add', { a: 1, b: 1 })).outcome, 'success')
    assert.equal(last()?.headers.get('authorization'), 'Bearer tok-another')
  })

  test('that has forgotten the session fails the call, and has a new one at the next', async () => {
    const server = await givenHttp('legacy')
    const { tool } = await givenMcp({ url: server.url })
    await tool('add', { a: 1, b: 1 })
    server.forget()
    assert.deepEqual(ending(await tool('echo', { text: 'a' })), ['failure', 'http_404', 'unknown'])
    assert.equal((await tool('echo', { text: 'a' })).outcome, 'success')
  })

  test('that is gone is not available, and nothing was sent', async () => {
    const server = await givenHttp('both')
    const { tool, notices } = await givenMcp({ url: server.url })
    await server.close()
    for (let at = 0; at < 5; at++)
      assert.deepEqual(ending(await tool('echo', { text: 'a' })), ['failure', 'unavailable', 'none'])
    const left = await tool('echo', { text: 'a' })
    assert.deepEqual([left.outcome, left.denial?.code], ['skipped', 'capability_disabled'])
    assert.match(JSON.stringify(left.denial?.details), /"lifecycle":"unavailable"/)
    assert.deepEqual(notices, ['the server `given` is away: it cannot be reached'])
  })

  test('that goes while it answers leaves the call indeterminate at once', async () => {
    const server = await givenHttp('both')
    const { tool } = await givenMcp({ url: server.url }, { timeoutS: 200 })
    await tool('add', { a: 1, b: 1 })
    const slow = tool('slow')
    await until(() => server.seen.some((request) => request.headers.get('mcp-name') === 'slow'))
    await server.close()
    assert.deepEqual((await slow).outcome, 'indeterminate')
  })
})

describe('servers that others wrote, as they are [H-90]', () => {
  const given = async (name: string, args: readonly string[] = [], env: Record<string, string> = {}) => {
    const path = `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`
    return givenMcp({ command: process.execPath, args: [path, ...args], env })
  }
  const givenFolder = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ambit-mcp-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    return folder
  }

  test('the file system server reads below its folder, and its refusals are failures', async () => {
    const folder = await givenFolder()
    await writeFile(join(folder, 'a.txt'), 'inside')
    const { tool, upstream } = await given('filesystem', [folder])
    const read = await tool('read_text_file', { path: join(folder, 'a.txt') })
    assert.deepEqual(read.data, {
      content: [{ type: 'text', text: 'inside' }],
      structuredContent: { content: 'inside' },
    })
    const refused = await tool('read_text_file', { path: join(tmpdir(), 'elsewhere') })
    assert.deepEqual([refused.outcome, refused.error?.code], ['failure', 'tool_error'])
    assert.equal(upstream.capabilities.length, 14)
  })

  test('the memory server keeps what it is told', async () => {
    const { tool } = await given('memory', [], { MEMORY_FILE_PATH: join(await givenFolder(), 'memory.jsonl') })
    const entities = [{ name: 'Ida', entityType: 'person', observations: ['is a pharmacist'] }]
    assert.equal((await tool('create_entities', { entities })).outcome, 'success')
    const { data } = await tool('search_nodes', { query: 'pharmacist' })
    assert.deepEqual((data as { structuredContent: unknown }).structuredContent, { entities, relations: [] })
  })
})

test('what a tool wants repeated as a header is, over HTTP [H-90]', async () => {
  const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  const results: Record<string, object> = {
    'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    'tools/list': { tools: [{ name: 'work', description: 'Works.', inputSchema }] },
    'tools/call': { content: [{ type: 'text', text: 'worked' }] },
  }
  const server = await givenServer((response, { body }) => {
    const { id, method = '' } = JSON.parse(body || '{}') as { id?: unknown; method?: string }
    const answer = { jsonrpc: '2.0', id, result: { ...complete, ...results[method] } }
    return response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  const { tool } = await givenMcp({ url: `${server.origin}/mcp` })
  assert.equal(textOf(await tool('work', { region: 'eu' })), 'worked')
  const [call] = server.seen.filter(({ body }) => body.includes('"tools/call"'))
  assert.equal(call?.headers['mcp-param-region'], 'eu')
})

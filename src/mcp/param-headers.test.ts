import assert from 'node:assert/strict'
import { test } from 'vitest'
import { echo } from '../../test/support/host.ts'
import { httpClient, revisions } from '../../test/support/mcp-client.ts'
import { servedServer } from '../../test/support/serve.ts'

const input = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    batch: { type: 'object', properties: { size: { type: 'integer', 'x-mcp-header': 'Size' } } },
    note: { type: 'string' },
  },
}

const given = (calls: unknown[] = []) => {
  const handler = (args: unknown) => ({ echo: args, nth: calls.push(args) })
  return servedServer({ offer: { capabilities: [{ ...echo({ input, output: { type: 'object' } }), handler }] } })
}

const callOf = (args: object, modern = true) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: {
    name: 'test_echo',
    arguments: args,
    ...(modern && {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }),
  },
})

const headers = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'test_echo',
}

test.each(revisions)('%s: a client repeats arguments as the tool wants it, and is heard [H-74]', async (revision) => {
  const { url } = await given()
  const client = await httpClient(url, revision, { key: 'shared-key-of-the-tests' })
  await client.listTools()
  const args = { region: 'Tromsø', batch: { size: 3 }, note: 'n' }
  const { structuredContent } = await client.callTool({ name: 'test_echo', arguments: args })
  assert.deepEqual(structuredContent, { echo: args, nth: 1 })
})

test.each([
  ['nothing to repeat', { note: 'n' }, {}],
  ['null', { region: null }, {}],
  ['the same text', { region: 'eu' }, { 'mcp-param-region': 'eu' }],
  ['the same text as base64', { region: 'Tromsø' }, { 'mcp-param-region': '=?base64?VHJvbXPDuA==?=' }],
  ['the same number', { batch: { size: 3 } }, { 'mcp-param-size': '3.0' }],
  ['more than is wanted', { note: 'n' }, { 'mcp-param-region': 'eu' }],
])('headers that say what the body says are accepted: %s [H-74]', async (_, args, more) => {
  const { ask } = await given()
  assert.equal((await ask('POST', '/mcp', { body: callOf(args), headers: { ...headers, ...more } })).status, 200)
})

test.each([
  ['none', { region: 'eu' }, {}],
  ['another text', { region: 'eu' }, { 'mcp-param-region': 'us' }],
  ['base64 without its end', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }],
  ['no base64 at all', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' }],
  ['another number', { batch: { size: 3 } }, { 'mcp-param-size': '4' }],
  ['no number', { batch: { size: 0 } }, { 'mcp-param-size': '' }],
])('headers that say something else are refused before anything is called: %s [H-74]', async (_, args, more) => {
  const calls: unknown[] = []
  const { ask } = await given(calls)
  const { status, body } = await ask('POST', '/mcp', { body: callOf(args), headers: { ...headers, ...more } })
  assert.deepEqual([status, body.id, body.error.code, calls], [400, 7, -32020, []])
  const { params, ...rest } = callOf(args)
  const byId = { ...rest, params: { ...params, name: 'test.echo' } }
  const named = { ...headers, ...more, 'mcp-name': 'test.echo' }
  assert.equal((await ask('POST', '/mcp', { body: byId, headers: named })).body.error.code, -32020)
})

test('a header that cannot be is not looked for [H-74]', async () => {
  const properties = { region: { type: 'string', 'x-mcp-header': 'no header' } }
  const { ask } = await servedServer({ offer: { capabilities: [echo({ input: { type: 'object', properties } })] } })
  assert.equal((await ask('POST', '/mcp', { body: callOf({ region: 'eu' }), headers })).status, 200)
})

test('a tool that a caller cannot see answers nothing about its headers [H-74 H-100]', async () => {
  const policy = { auth_required: true, allowed_actors: ['other-agent'] }
  const { ask, keyOf } = await servedServer({ offer: { capabilities: [echo({ input, policy })] } })
  const key = await keyOf({ id: 'planner', kind: 'agent' })
  const { status, text } = await ask('POST', '/mcp', { key, body: callOf({ region: 'eu' }), headers })
  assert.equal(status, 200)
  assert.match(text, /policy_blocked/)
  assert.doesNotMatch(text, /Region/)
})

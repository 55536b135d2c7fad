import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { echo } from '../../test/support/host.ts'
import { givenServer, requestOf } from '../../test/support/server.ts'
import { limits } from '../base/limits.ts'
import { listen } from '../server/listen.ts'

const listening = {
  body: {
    jsonrpc: '2.0',
    id: 7,
    method: 'subscriptions/listen',
    params: {
      notifications: { toolsListChanged: true },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  },
  headers: {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  },
}

const given = () => givenServer({ offer: { capabilities: [echo()] } })

test('a server that is told to end ends what clients listen to, and opens no more of it [F-18]', async () => {
  const { app } = await given()
  const { url, close } = await listen(app, { port: 0 })
  const answer = await fetch(requestOf(url, 'POST', '/mcp', listening))
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const read = answer.text()
  await close()
  assert.match(await read, /acknowledged[\s\S]*"result"/)
  assert.equal((await app.fetch(requestOf(url, 'POST', '/mcp', listening))).status, 503)
})

test('a caller that listens as often as it may leaves the others their room, and gets it back when it ends one [H-80]', async () => {
  const { app, keyOf } = await given()
  const [one, other] = [await keyOf({ id: 'one', kind: 'agent' }), await keyOf({ id: 'other', kind: 'agent' })]
  const ask = (key: string) => app.fetch(requestOf('http://localhost', 'POST', '/mcp', { ...listening, key }))
  const open = await Promise.all(Array.from({ length: limits.mcpListenersPerCallerMax }, () => ask(one)))
  assert(open.every(({ status }) => status === 200))
  assert.equal((await ask(one)).status, 429)
  assert.equal((await ask(other)).status, 200)
  await open[0]?.body?.cancel()
  await vi.waitFor(async () => assert.equal((await ask(one)).status, 200))
  await app.close()
})

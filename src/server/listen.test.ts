import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { test } from 'vitest'
import { listen } from './listen.ts'

test('a server that is told to end answers what is under way, and a connection kept open brings no more to it [F-18]', async () => {
  const gate = Promise.withResolvers<void>()
  const answered: string[] = []
  const fetch = async (request: Request): Promise<Response> => {
    if (request.url.endsWith('/slow')) await gate.promise
    answered.push(new URL(request.url).pathname)
    return new Response('ok')
  }
  const server = await listen({ fetch, open: true, close: async () => undefined }, { port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const slow = ask(`${server.url}/slow`, agent)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const closed = server.close()
  gate.resolve()
  assert.deepEqual(await slow, { status: 200, connection: 'close' })
  await closed
  await assert.rejects(ask(`${server.url}/more`, agent), /ECONNREFUSED|ECONNRESET/)
  assert.deepEqual(answered, ['/slow'])
  agent.destroy()
})

test('a server that is told to end does not wait for a connection that has brought nothing [F-18]', async () => {
  const fetch = async () => new Response('ok')
  const server = await listen({ fetch, open: true, close: async () => undefined }, { port: 0 })
  const socket = connect(Number(new URL(server.url).port))
  await once(socket, 'connect')
  await Promise.all([server.close(), once(socket.resume(), 'close')])
})

test('a connection whose headers do not come in time is closed, and so is one more than may be there [H-80]', async () => {
  const fetch = async () => new Response('ok')
  const limits = { headersMs: 200, connectionsMax: 2 }
  const server = await listen({ fetch, limits, open: true, close: async () => undefined }, { port: 0 })
  const port = Number(new URL(server.url).port)
  const [slow, silent] = [connect(port), connect(port)]
  let answered = ''
  slow.on('data', (bytes) => {
    answered += bytes
  })
  const ended = Promise.all([slow, silent].map((socket) => once(socket.resume(), 'close')))
  await Promise.all([once(slow, 'connect'), once(silent, 'connect')])
  slow.write('GET / HTTP/1.1\r\nhost: here\r\n')
  await once(
    connect(port)
      .on('error', () => undefined)
      .resume(),
    'close',
  )
  await ended
  assert.match(answered, /^HTTP\/1\.1 408 /)
  assert.equal(await (await globalThis.fetch(server.url)).text(), 'ok')
  await server.close()
})

const ask = (url: string, agent: Agent): Promise<{ status: number | undefined; connection: string | undefined }> =>
  new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode, connection: answer.headers.connection })
    }).on('error', reject)
  })

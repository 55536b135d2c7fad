// Real servers on this machine, for what goes out through the gateway.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A request as a server saw it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface GivenServer {
  readonly origin: string
  readonly port: number
  readonly seen: readonly Seen[]
  /** How many connections were made to it. */
  connections(): number
}

type Answers = (response: ServerResponse, seen: Seen) => unknown

/** A server that reads each request whole, remembers it, and answers it. */
export async function givenServer(answers: Answers, tls?: { key: string; cert: string }): Promise<GivenServer> {
  const seen: Seen[] = []
  const listener: RequestListener = async (request, response) => {
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: await text(request) }
    seen.push(one)
    await answers(response, one)
  }
  let connections = 0
  const listen: RequestListener = (request, response) =>
    void Promise.resolve(listener(request, response)).catch(() => response.destroy())
  const server = tls ? createTlsServer(tls, listen) : createServer(listen)
  server.on('connection', () => connections++)
  const port = await listening(server, () => server.closeAllConnections())
  return { origin: `http${tls ? 's' : ''}://127.0.0.1:${port}`, port, seen, connections: () => connections }
}

/** A server that says what it is told, whatever it is asked; null: nothing, and goes. */
export async function givenTcp(says: string | null): Promise<{ origin: string; port: number }> {
  const open = new Set<Socket>()
  const server = createTcpServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => (says === null ? socket.destroy() : socket.write(says)))
  })
  const port = await listening(server, () => {
    for (const socket of open) socket.destroy()
  })
  return { origin: `http://127.0.0.1:${port}`, port }
}

/** A port of this machine at which nobody listens. */
export async function deadPort(): Promise<number> {
  const server = createTcpServer()
  const port = await new Promise<number>((done) => server.listen(0, '127.0.0.1', () => done(portOf(server))))
  await new Promise((done) => server.close(done))
  return port
}

async function listening(server: Server, end: () => void): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(async () => {
    end()
    await new Promise((done) => server.close(done))
  })
  return portOf(server)
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

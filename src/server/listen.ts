import { type ServerType, serve } from '@hono/node-server'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isLoopback } from './access.ts'
import type { App } from './app.ts'

export interface ListenOptions {
  /** 0 takes any that is free. */
  readonly port: number
  readonly hostname?: string
}

export type Listening = Awaited<ReturnType<typeof listen>>

/** Serves an app over HTTP. One that lets everybody in is served to this machine alone. */
export async function listen(app: App, { port, hostname = '127.0.0.1' }: ListenOptions) {
  const help = 'leave out `--open`, or listen on `127.0.0.1`'
  if (app.open && !isLoopback(hostname))
    throw new Failure('config.invalid', 'open access is for this machine alone', {}, help)
  const listening = Promise.withResolvers<number>()
  let closing = false
  // A connection that is kept open would bring its next request to a server that takes no more.
  const fetch = async (request: Request): Promise<Response> => {
    const answer = await app.fetch(request)
    if (closing) answer.headers.set('connection', 'close')
    return answer
  }
  const { headersMs = limits.headersMs, bodyMs = limits.bodyMs } = app.limits ?? {}
  // A connection that brings its request too slowly is closed: it would keep a place from others.
  const times = { headersTimeout: headersMs, requestTimeout: headersMs + bodyMs, connectionsCheckingInterval: 1_000 }
  const server = serve({ fetch, port, hostname, serverOptions: times }, (info) => listening.resolve(info.port))
  server.maxConnections = app.limits?.connectionsMax ?? limits.connectionsMax
  server.once('error', (error: NodeJS.ErrnoException) => listening.reject(unusable(port, hostname, error.code)))
  const unused = unusedOf(server)
  const bound = await listening.promise
  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${bound}`,
    /** Takes no more requests and waits for those under way. */
    close: async (): Promise<void> => {
      closing = true
      await app.close()
      await new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)))
        if ('closeIdleConnections' in server) server.closeIdleConnections()
        for (const connection of unused) connection.destroy()
      })
    },
  }
}

/** Which part of the address cannot be used, and what to give instead. */
function unusable(port: number, hostname: string, why = 'unknown'): Failure {
  const refused = (message: string, help?: string) => new Failure('config.invalid', message, { port, hostname }, help)
  if (['EADDRNOTAVAIL', 'ENOTFOUND'].includes(why))
    return refused(`${quote(hostname)} is no address of this machine`, 'give one with --hostname')
  if (['EADDRINUSE', 'EACCES'].includes(why))
    return refused(`port ${port} cannot be used: ${why}`, 'give another with --port, or 0 for any')
  return refused(`the address cannot be used (${why})`)
}

interface Connection {
  once(event: 'close', then: () => void): void
  destroy(): void
}

/** The connections that have brought no request yet: a server that closes would wait for one. */
function unusedOf(server: ServerType): ReadonlySet<Connection> {
  const unused = new Set<Connection>()
  server.on('connection', (connection: Connection) => {
    unused.add(connection)
    connection.once('close', () => unused.delete(connection))
  })
  server.on('request', ({ socket }: { readonly socket: Connection }) => unused.delete(socket))
  return unused
}

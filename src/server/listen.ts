import { type ServerType, serve } from '@hono/node-server'
import { Failure } from '../base/failure.ts'
import type { App } from './app.ts'
import { isLoopback } from './headers.ts'

export interface ListenOptions {
  /** 0 takes any that is free. */
  readonly port: number
  readonly hostname?: string
}

export interface Listening {
  readonly url: string
  /** Takes no more requests and waits for those under way. */
  close(): Promise<void>
}

/** Serves an app over HTTP. One that lets everybody in is served to this machine alone. */
export async function listen(app: App, { port, hostname = '127.0.0.1' }: ListenOptions): Promise<Listening> {
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
  const server = serve({ fetch, port, hostname }, (info) => listening.resolve(info.port))
  server.once('error', (error: NodeJS.ErrnoException) =>
    listening.reject(
      new Failure('config.invalid', `the address cannot be used (${error.code ?? 'unknown'})`, { port, hostname }),
    ),
  )
  const unused = unusedOf(server)
  const bound = await listening.promise
  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${bound}`,
    close: async () => {
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

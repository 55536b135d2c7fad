import { Failure } from '../base/failure.ts'
import type { Ambit } from '../operations/ambit.ts'
import { type Operation, type Perform, routeOf } from '../operations/operation.ts'
import { operable } from '../operations/table.ts'
import { readFrames } from './frames.ts'
import { type Connection, connectionTo, send, sendJson } from './http.ts'

export interface ConnectOptions {
  /** Instead of the platform's own. */
  readonly fetch?: typeof fetch
}

/**
 * The Ambit behind an address such as `http://127.0.0.1:4770`, as the holder of an API key, or of a key of the host's
 * configuration. The same interface as `createAmbit` gives in one process. Nothing is sent yet.
 */
export function connect(url: string, key?: string, options: ConnectOptions = {}): Ambit {
  const connection = connectionTo({ url, key, fetch: options.fetch })
  const perform: Perform = (_, operation, input) =>
    operation.stream ? itemsOf(connection, operation, input) : sendJson(connection, requestOf(operation, input))
  return {
    ...operable(perform),
    withKey: async (other) => connect(url, other, options),
    close: async () => undefined,
  }
}

/** Path, query and body by where the members of the input belong. */
function requestOf(operation: Operation, input: Readonly<Record<string, unknown>>) {
  const { method, path: pattern, inPath } = routeOf(operation)
  const rest = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(input[name])))
  if (method === 'POST') return { method, path, body: Object.fromEntries(rest) }
  const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))
  return { method, path: rest.length === 0 ? path : `${path}?${query}` }
}

async function* itemsOf(connection: Connection, operation: Operation, input: Readonly<Record<string, unknown>>) {
  const leaving = new AbortController()
  try {
    const response = await send(connection, { ...requestOf(operation, input), signal: leaving.signal })
    if (response.body === null) return
    for await (const { event, data } of readFrames(response.body)) {
      if (event === 'item') yield JSON.parse(data) as unknown
      if (event === 'error') throw new Failure('answer.invalid', 'the stream broke off', {}, 'ask again')
    }
  } finally {
    leaving.abort()
  }
}

import { Failure } from '../base/failure.ts'
import type { Ambit } from '../operations/ambit.ts'
import { type Operation, type Perform, routeOf } from '../operations/operation.ts'
import { operable } from '../operations/table.ts'
import { type HostOptions, type HostRequest, readFrames, send, sendJson, withQuery } from './http.ts'

export interface ConnectOptions {
  /** Instead of the platform's own. */
  readonly fetch?: typeof fetch
}

/**
 * The Ambit behind an address such as `http://127.0.0.1:4770`, as the holder of an API key, or of a key of the host's
 * configuration. The same interface as `createAmbit` gives in one process. Nothing is sent yet.
 */
export function connect(url: string, key?: string, options: ConnectOptions = {}): Ambit {
  const host = { url, key, ...options }
  const perform: Perform = (_, operation, input) =>
    operation.stream ? itemsOf(host, requestOf(operation, input)) : sendJson(host, requestOf(operation, input))
  return {
    ...operable(perform),
    withKey: async (other) => connect(url, other, options),
    close: async () => undefined,
  }
}

/** Path, query and body by where the members of the input belong. */
function requestOf(operation: Operation, input: Readonly<Record<string, unknown>>): HostRequest {
  const { method, path: pattern, inPath } = routeOf(operation)
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(input[name])))
  return method === 'POST' ? { method, path, body: rest } : { method, path: withQuery(path, rest) }
}

async function* itemsOf(host: HostOptions, request: HostRequest) {
  const leaving = new AbortController()
  try {
    const response = await send(host, { ...request, signal: leaving.signal })
    for await (const { event, data } of readFrames(response)) {
      if (event === 'item') yield JSON.parse(data) as unknown
      if (event === 'error') throw new Failure('answer.invalid', 'the stream broke off', {}, 'ask again')
    }
  } finally {
    leaving.abort()
  }
}

import { Failure } from '../base/failure.ts'
import { statusOf } from '../base/failure-codes.ts'
import type { Ambit } from '../operations/ambit.ts'
import { type Operation, type Perform, routeOf } from '../operations/operation.ts'
import { operable } from '../operations/table.ts'
import { type HostOptions, type HostRequest, readFrames, send, sendJson, withQuery } from './http.ts'
import { withRun } from './run-handle.ts'

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
    operation.stream
      ? itemsOf(host, requestOf(operation, input), operation.resumes !== undefined)
      : sendJson(host, requestOf(operation, input))
  return {
    ...withRun(operable(perform)),
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

const breaksMax = 8
const waitMaxMs = 5_000

/** A stream whose items are numbered is taken up again after the last of them, until the host says that it is over. */
async function* itemsOf(host: HostOptions, request: HostRequest, isNumbered: boolean) {
  const leaving = new AbortController()
  let last: string | undefined
  try {
    for (let broken = 0; ; ) {
      try {
        const headers = last === undefined ? {} : { 'last-event-id': last }
        const response = await send(host, { ...request, headers, signal: leaving.signal })
        for await (const { id, event, data } of readFrames(response)) {
          if (event === 'end') return
          if (event === 'error') throw brokenOff()
          if (event !== 'item') continue
          if (isNumbered) last = id
          broken = 0
          yield JSON.parse(data) as unknown
        }
        if (!isNumbered) return
        throw brokenOff()
      } catch (error) {
        if (!isNumbered || !mayGoOn(error) || ++broken > breaksMax) throw error
        await new Promise((resolve) => setTimeout(resolve, Math.min(50 * 2 ** broken, waitMaxMs)))
      }
    }
  } finally {
    leaving.abort()
  }
}

const brokenOff = (): Failure => new Failure('answer.invalid', 'the stream broke off', {}, 'ask again')

/** Not where the caller has left, and not where the host refuses. */
function mayGoOn(error: unknown): boolean {
  const { name, cause } = error as Error
  if ([name, (cause as Error | undefined)?.name].includes('AbortError')) return false
  return !(error instanceof Failure) || error.code === 'answer.invalid' || statusOf[error.code] >= 500
}

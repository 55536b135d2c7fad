import type { FailureCode } from '../base/codes.ts'
import { Failure } from '../base/failure.ts'
import { failureCode } from '../base/protocol-codes.ts'

export interface Connection {
  readonly url: string
  readonly key: string | undefined
  readonly fetch: typeof fetch
}

export const connectionTo = (given: {
  readonly url: string
  readonly key?: string | undefined
  readonly fetch?: typeof fetch | undefined
}): Connection => ({
  url: given.url.replace(/\/+$/, ''),
  key: given.key,
  fetch: given.fetch ?? globalThis.fetch.bind(globalThis),
})

export interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** What is not there when the protocol only says that something is not. */
  readonly missing?: FailureCode
}

/** The answer to one request, if it is one of success; anything else is a `Failure` with the host's own code. */
export async function send(
  { url, key, fetch }: Connection,
  { method, path, body, headers, signal, missing }: Asked,
): Promise<Response> {
  const init = {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'x-chp-key': key }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }
  const response = await fetch(`${url}${path}`, init).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw unreachable(error)
  })
  if (response.ok) return response
  throw await failureOf(response, missing)
}

export async function sendJson<T>(connection: Connection, asked: Asked): Promise<T> {
  const response = await send(connection, asked)
  return (await response.json().catch(() => {
    throw new Failure('answer.invalid', 'the host did not answer JSON', {}, 'check the address')
  })) as T
}

export const unreachable = (error: unknown): Failure => {
  const failure = new Failure('host.unreachable', 'the host cannot be reached', {}, 'check the address and the network')
  failure.cause = error
  return failure
}

/** What the host says went wrong, in the protocol's form or in ours. */
async function failureOf(response: Response, missing: FailureCode = 'route.not_found'): Promise<Failure> {
  const body = (await response.json().catch(() => ({}))) as Partial<ErrorBody>
  const spelled = body.code ?? body.error?.code
  const message = body.detail ?? body.error?.message ?? `the host answered ${response.status}`
  const known = spelled === undefined ? undefined : failureCode(spelled, response.status)
  const code = known === 'route.not_found' ? missing : known
  return new Failure(code ?? 'answer.invalid', message, { status: response.status, ...body.data }, body.remediation)
}

interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string }
  readonly code: string
  readonly detail: string
  readonly data: Readonly<Record<string, unknown>>
  readonly remediation: string
}

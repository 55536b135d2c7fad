import { Failure } from '../base/failure.ts'
import { type FailureCode, failureCode } from '../base/failure-codes.ts'

export interface HostOptions {
  /** Where the host is, such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** An API key, or a key of the host's configuration. */
  readonly key?: string | undefined
  /** Instead of the platform's own. */
  readonly fetch?: typeof fetch | undefined
}

export interface HostRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** What is not there when the protocol only says that something is not. */
  readonly missing?: FailureCode | undefined
}

/** The answer to one request, if it is one of success; anything else is a `Failure` with the host's own code. */
export async function send(
  { url, key, fetch = globalThis.fetch }: HostOptions,
  { method, path, body, headers, signal, missing }: HostRequest,
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
  const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, init).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw unreachable(error)
  })
  if (response.ok) return response
  throw await failureOf(response, missing)
}

export async function sendJson<T>(host: HostOptions, request: HostRequest): Promise<T> {
  // What may come as a stream is asked for whole.
  const headers = { accept: 'application/json', ...request.headers }
  const response = await send(host, { ...request, headers })
  return (await response.json().catch(() => {
    throw new Failure('answer.invalid', 'the host did not answer JSON', {}, 'check the address')
  })) as T
}

/** A path with these members as its query. */
export function withQuery(path: string, members: object): string {
  const query = new URLSearchParams(
    Object.entries(members).map(([name, value]) => [name, String(value)] as [string, string]),
  )
  return query.size === 0 ? path : `${path}?${query}`
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

/** One event of a stream as it was sent. */
export interface Frame {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** The events of a `text/event-stream` answer, as they come; one that was cut short is left out. */
export async function* readFrames({ body }: Response): AsyncGenerator<Frame, void, undefined> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    // Not every browser can iterate over a stream.
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      const frames = (text + part.value).split(/\r?\n\r?\n/)
      text = frames.pop() ?? ''
      for (const frame of frames) yield frameOf(frame)
    }
  } finally {
    await reader?.cancel().catch(() => undefined)
  }
}

function frameOf(text: string): Frame {
  const fields = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf(':')
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ''))
  }
  return { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data: fields.get('data') ?? '' }
}

import { canonical, type Json } from '../base/canonical.ts'
import { type Failure, problem, shown } from '../base/failure.ts'
import { type FailureCode, protocolCode, statusOf } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import type { WireError } from '../model/wire/wire.ts'

/** A JSON answer with sorted members at every level: a JavaScript object would put those first that look like numbers. */
export const json = (body: object, status = 200, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(canonical(body as Json), {
    status,
    headers: { 'content-type': 'application/json', ...always, ...headers },
  })

export const always = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export interface Failed {
  /** Paths of ours answer problems; those of the protocol have its own form. */
  readonly ours: boolean
  readonly traceId?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer to what went wrong. Of what is not the caller's doing it says nothing but that it happened. */
export function failed(error: unknown, { ours, traceId, headers = {} }: Failed): Response {
  const failure = shown(error)
  const status = statusOf[failure.code]
  const more = { ...extra(failure.code, status), ...headers }
  if (ours) return json(problem(failure, traceId), status, { ...more, 'content-type': 'application/problem+json' })
  const body: WireError = { error: { code: protocolCode(failure.code), message: failure.message } }
  return json({ ...body, ...versionDenial(failure) }, status, more)
}

function extra(code: FailureCode, status: number): Record<string, string> {
  if (status === 429 || status === 503) return { 'retry-after': String(limits.retryAfterS) }
  // The rest of the body is not read: the connection ends with the answer.
  if (code === 'body.late') return { connection: 'close' }
  return code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}
}

function versionDenial({ code, message, data }: Failure): Pick<WireError, 'denial'> {
  if (code !== 'version.unsupported') return {}
  const { requested, supported } = data as { requested: string; supported: string[] }
  return { denial: { code: 'version_unsupported', message, retryable: false, requested, supported } }
}

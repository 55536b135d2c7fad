import { statusOf, wireCode } from '../base/codes.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Ambit } from '../runtime/ambit.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import { recordRefusedEntry } from '../runtime/identity/refused-entries.ts'
import { rateLimit } from './rate.ts'
import type { Visitor } from './route.ts'

export interface Refused {
  readonly visitor: Visitor | undefined
  readonly method: string
  readonly path: string
  readonly route: string
  readonly traceId: string
  readonly error: unknown
}

/**
 * Records what known callers were refused at paths of ours that change something. One caller fills the record no faster
 * than once a second, and all together not much faster; the next entry says how many were left out.
 */
export function recordingRefusals({ ambit, host }: { readonly ambit: Ambit; readonly host: AmbitHost }) {
  const mayOne = rateLimit(ambit.clock, 1, limits.rateCallersMax)
  const mayAll = rateLimit(ambit.clock, limits.refusalsPerSecondMax, 1)
  const left = new Map<string, number>()
  return async ({ visitor, method, path, route, traceId, error }: Refused): Promise<void> => {
    const subject = visitor?.caller.subject ?? null
    if (visitor === undefined || subject === null || !isEntry(method, path) || !isRefusal(error)) return
    const { name } = visitor.caller
    const unrecorded = left.get(name) ?? 0
    if (!mayOne(name) || !mayAll('all')) {
      if (left.size < limits.rateCallersMax || unrecorded > 0) left.set(name, unrecorded + 1)
      return
    }
    left.delete(name)
    const { code } = error
    const refused = { subject, method, route, code: wireCode(code), status: statusOf[code], traceId, unrecorded }
    // The caller is refused either way, and nothing was done.
    await recordRefusedEntry(ambit, host, refused).catch(() => undefined)
  }
}

/** A preview leaves nothing behind, whatever comes of it. */
const isEntry = (method: string, path: string): boolean =>
  method === 'POST' && path.startsWith('/v1/') && path !== '/v1/preview'

/** Where nothing is, nobody was refused; and trouble of ours is no refusal. */
const isRefusal = (error: unknown): error is Failure =>
  error instanceof Failure && statusOf[error.code] < 500 && ![404, 405].includes(statusOf[error.code])

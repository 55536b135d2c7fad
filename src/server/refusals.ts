import { statusOf, wireCode } from '../base/codes.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { recordRefusedEntry } from '../runtime/identity/refused-entries.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { callerKey } from './concurrency.ts'
import { rateLimit } from './rate.ts'
import type { AuthenticatedCaller } from './route.ts'

export interface Refused {
  readonly by: AuthenticatedCaller | undefined
  readonly method: string
  readonly path: string
  readonly route: string
  readonly traceId: string
  readonly error: unknown
}

/**
 * Records what known callers were refused at paths of ours that change something. One caller fills the record of its
 * tenant no faster than once a second, and all of a tenant not much faster; the next entry says how many were left out.
 */
export function openRefusalRecord(ambit: Runtime) {
  const mayOne = rateLimit(ambit.clock, 1, limits.rateCallersMax)
  const mayAll = rateLimit(ambit.clock, limits.refusalsPerSecondMax, limits.rateCallersMax)
  const left = new Map<string, number>()
  return async ({ by, method, path, route, traceId, error }: Refused): Promise<void> => {
    const subject = by?.caller.subject ?? null
    if (by === undefined || subject === null || !isEntry(method, path) || !isRefusal(error)) return
    const { tenant } = by
    const key = callerKey(tenant, by.caller.name)
    const unrecorded = left.get(key) ?? 0
    if (!mayOne(key) || !mayAll(tenant)) {
      if (left.size < limits.rateCallersMax || unrecorded > 0) left.set(key, unrecorded + 1)
      return
    }
    left.delete(key)
    const { code } = error
    const refused = { subject, method, route, code: wireCode(code), status: statusOf[code], traceId, unrecorded }
    // The caller is refused either way, and nothing was done.
    await recordRefusedEntry(ambit, tenant, refused).catch(() => undefined)
  }
}

/** A preview leaves nothing behind, whatever comes of it. */
const isEntry = (method: string, path: string): boolean =>
  method === 'POST' && path.startsWith('/v1/') && path !== '/v1/preview'

/** A path that does not exist refuses nothing, and a failure of ours is no refusal. */
const isRefusal = (error: unknown): error is Failure =>
  error instanceof Failure && statusOf[error.code] < 500 && ![404, 405].includes(statusOf[error.code])

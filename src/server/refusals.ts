import { Failure } from '../base/failure.ts'
import { statusOf, wireCode } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import { recordAs } from '../runtime/evidence/record.ts'
import { ownEvent } from '../runtime/identity/admin.ts'
import { type Caller, operator } from '../runtime/identity/caller.ts'
import { tenantOf } from '../runtime/identity/tenants.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { callerKey, rateLimit } from './rate-limits.ts'

export interface Refused {
  readonly caller: Caller | undefined
  readonly method: string
  readonly path: string
  readonly route: string
  readonly traceId: string
  readonly error: unknown
}

/**
 * Records the refused requests of known callers at our own paths that change something: the route, never the content.
 * One caller fills the record of its tenant no faster than once a second, and all callers of a tenant not much faster;
 * the next entry counts those that were left out.
 */
export function openRefusalRecord(ambit: Runtime) {
  const mayOne = rateLimit(ambit.clock, 1, limits.rateCallersMax)
  const mayAll = rateLimit(ambit.clock, limits.refusalsPerSecondMax, limits.rateCallersMax)
  const left = new Map<string, number>()
  return async ({ caller, method, path, route, traceId, error }: Refused): Promise<void> => {
    if (caller?.subject.verified !== true || !isEntry(method, path) || !isRefusal(error)) return
    const { tenant, subject } = caller
    const key = callerKey(tenant, subject.id)
    const unrecorded = left.get(key) ?? 0
    if (!mayOne(key) || !mayAll(tenant)) {
      if (left.size < limits.rateCallersMax || unrecorded > 0) left.set(key, unrecorded + 1)
      return
    }
    left.delete(key)
    // A refused request is no call, and in no caller's correlation: it is under an id of its own.
    const id = ambit.ids.next('req')
    const payload = { method, route, code: wireCode(error.code), status: statusOf[error.code], unrecorded }
    const event = {
      ...ownEvent('ambit.entry.refused', payload, id),
      invocation_id: id,
      outcome: 'denied' as const,
      correlation: { correlation_id: id, trace_id: traceId },
      redacted: true,
    }
    const recorder = { ...operator(tenant), subject }
    // The caller is refused either way, and nothing was done.
    await tenantOf(ambit, recorder)
      .then(({ host_id }) => recordAs(ambit, recorder, host_id, [event]))
      .catch(() => undefined)
  }
}

/** A preview leaves nothing behind in any case. */
const isEntry = (method: string, path: string): boolean =>
  method === 'POST' && path.startsWith('/v1/') && path !== '/v1/preview'

/** A path that does not exist refuses nothing, and a failure of ours is no refusal. */
const isRefusal = (error: unknown): error is Failure =>
  error instanceof Failure && statusOf[error.code] < 500 && ![404, 405].includes(statusOf[error.code])

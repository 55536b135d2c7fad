import type { Failure } from '../base/failure.ts'
import { statusOf } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import { routeOf } from '../operations/operation.ts'
import { operations } from '../operations/table.ts'
import { isRefusal, recordRefusal } from '../runtime/evidence/refusals.ts'
import type { Caller } from '../runtime/identity/caller.ts'
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
    if (caller?.subject.verified !== true || !isEntry(method, path) || !refuses(route, error)) return
    const { tenant, subject } = caller
    const key = callerKey(tenant, subject.id)
    const unrecorded = left.get(key) ?? 0
    if (!mayOne(key) || !mayAll(tenant)) {
      if (left.size < limits.rateCallersMax || unrecorded > 0) left.set(key, unrecorded + 1)
      return
    }
    left.delete(key)
    await recordRefusal(ambit, caller, error, { method, route, traceId, unrecorded })
  }
}

/** A preview leaves nothing behind in any case. */
const isEntry = (method: string, path: string): boolean =>
  method === 'POST' && path.startsWith('/v1/') && path !== '/v1/preview'

/** To ask for what is not there is refused nothing, unless a run was to start with it. */
const refuses = (route: string, error: unknown): error is Failure =>
  isRefusal(error) && (statusOf[error.code] !== 404 || runEntries.has(route))

const runEntries = new Set([operations.invokeAgent, operations.runs.start].map((each) => routeOf(each).path))

import { Failure } from '../../base/failure.ts'
import { statusOf, wireCode } from '../../base/failure-codes.ts'
import { ownEvent } from '../identity/admin.ts'
import { type Caller, operator } from '../identity/caller.ts'
import { tenantOf } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'
import { recordAs } from './record.ts'

export interface RefusedEntry {
  readonly method: string
  readonly route: string
  readonly traceId?: string | undefined
  /** How many refusals of the caller were left out since the last one on record. */
  readonly unrecorded?: number
}

/** Records that a request was refused: the place, never the content. */
export async function recordRefusal(ambit: Runtime, caller: Caller, error: Failure, at: RefusedEntry): Promise<void> {
  const { method, route, traceId, unrecorded = 0 } = at
  // A refused request is no call, and in no caller's correlation: it is under an id of its own.
  const id = ambit.ids.next('req')
  const payload = { method, route, code: wireCode(error.code), status: statusOf[error.code], unrecorded }
  const event = {
    ...ownEvent('ambit.entry.refused', payload, id),
    invocation_id: id,
    outcome: 'denied' as const,
    correlation: { correlation_id: id, ...(traceId !== undefined && { trace_id: traceId }) },
    redacted: true,
  }
  const recorder = { ...operator(caller.tenant), subject: caller.subject }
  // The caller is refused either way, and nothing was done.
  await tenantOf(ambit, recorder)
    .then(({ host_id }) => recordAs(ambit, recorder, host_id, [event]))
    .catch(() => undefined)
}

/** A failure of ours refuses nothing, and neither does a path that does not exist. */
export const isRefusal = (error: unknown): error is Failure =>
  error instanceof Failure &&
  statusOf[error.code] < 500 &&
  error.code !== 'route.not_found' &&
  error.code !== 'method.not_allowed'

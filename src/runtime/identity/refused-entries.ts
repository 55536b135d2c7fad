import type { Subject } from '../../model/identity/subject.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { recordAs } from '../evidence/record.ts'
import type { Runtime } from '../runtime.ts'
import { ownEvent } from './admin.ts'
import { operator } from './caller.ts'
import { tenantOf } from './tenants.ts'

/** What somebody who is known was not let do: the place, never what was sent there. */
export interface RefusedEntry {
  readonly subject: Subject
  readonly method: string
  readonly route: string
  readonly code: string
  readonly status: number
  readonly traceId: string
  /** How many refusals of the same caller before this one were not recorded. */
  readonly unrecorded: number
}

/** Records a refused request of a known caller, under an id of its own: no call, and in no caller's correlation. */
export async function recordRefusedEntry(
  ambit: Runtime,
  tenant: TenantId,
  { subject, method, route, code, status, traceId, unrecorded }: RefusedEntry,
): Promise<void> {
  const id = ambit.ids.next('req')
  const event = {
    ...ownEvent('ambit.entry.refused', { method, route, code, status, unrecorded }),
    invocation_id: id,
    outcome: 'denied' as const,
    correlation: { correlation_id: id, trace_id: traceId },
    redacted: true,
  }
  const { host_id } = await tenantOf(ambit, { tenant })
  await recordAs(ambit, { ...operator(tenant), subject }, host_id, [event])
}

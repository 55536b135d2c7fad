import type { Json } from '../../base/canonical.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Page, PageOptions } from '../../storage/page.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Change, Work } from '../../storage/work.ts'
import { type EventInput, recordAs } from '../evidence/record.ts'
import type { Runtime } from '../runtime.ts'
import { type Caller, demand } from './caller.ts'

/** What happens to a host's signing keys and to the evidence itself: the protocol's own words. */
type HostEvent = 'key_generated' | 'key_rotated' | 'key_revoked' | 'identity_anchored' | 'evidence_purged'

/** What else the runtime records outside calls. Only the runtime writes these, none in a caller's correlation. */
export const runtimeEvents = [
  ...(['ambit.tenant.created', 'ambit.tenant.roots_added', 'ambit.tenant.suspended', 'ambit.tenant.resumed'] as const),
  ...(['ambit.principal.created', 'ambit.principal.revoked'] as const),
  ...(['ambit.permission.given', 'ambit.permission.withdrawn'] as const),
  ...(['ambit.key.issued', 'ambit.key.rotated', 'ambit.key.revoked'] as const),
  ...(['ambit.secret.set', 'ambit.secret.removed'] as const),
  ...(['ambit.approver.added', 'ambit.approver.revoked', 'ambit.knowledge.approved', 'ambit.loss.accepted'] as const),
  ...(['ambit.grants.revoked', 'ambit.entry.refused', 'ambit.memory.forgotten', 'ambit.scope.erased'] as const),
  ...(['ambit.pack.published', 'ambit.artifact.added'] as const),
] as const

export type OwnEvent = HostEvent | (typeof runtimeEvents)[number]

/** The correlation of every change of a tenant's principals and keys: their history in one export. */
export const adminCorrelation = (hostId: string): string => `ambit-admin-${hostId}`

/** The correlation the protocol keeps for a host's own signing keys. */
export const identityCorrelation = (hostId: string): string => `host-identity-${hostId}`

type Payload = { readonly [key: string]: Json }

/** A change of a tenant's state, and the event that records it. */
export interface Recordable<T = unknown> {
  readonly type: OwnEvent
  readonly payload: Payload
  readonly change: Change<T>
}

/** An event of the runtime itself, outside any call. */
export const ownEvent = (event_type: OwnEvent, payload: Payload, correlation_id: string): EventInput => ({
  ...{ event_type, payload, correlation: { correlation_id } },
  outcome: 'success',
})

export const adminEvent = (hostId: string, type: OwnEvent, payload: Payload): EventInput =>
  ownEvent(type, payload, adminCorrelation(hostId))

export const identityEvent = (hostId: string, type: OwnEvent, payload: Payload): EventInput =>
  ownEvent(type, payload, identityCorrelation(hostId))

/** Changes the state of the caller's tenant and records it, in one transaction. Needs the right to administer. */
export async function administer<T>(
  ambit: Runtime,
  caller: Caller,
  type: OwnEvent,
  payload: Payload,
  change?: Change<T>,
): Promise<T> {
  demand(caller, 'administer')
  const { host_id } = await ambit.store.read(() => getTenant(caller.tenant))
  return (await recordAs(ambit, caller, host_id, [adminEvent(host_id, type, payload)], change)).value
}

/** Reads such records of the caller's tenant, page by page in order of id. Needs the right to audit. */
export const listOf =
  <T>({ list }: { readonly list: (tenant: TenantId, options?: PageOptions) => Work<Page<T>> }) =>
  async (ambit: Runtime, caller: Caller, options?: PageOptions): Promise<Page<T>> => {
    demand(caller, 'audit')
    return ambit.store.read(() => list(caller.tenant, options))
  }

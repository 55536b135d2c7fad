import { approvalRecords, type StoredApproval } from '../storage/approvals.ts'
import { privateOf, recordKey } from './approval-request.ts'
import { isOver } from './approvals.ts'
import { type CallCaller, fingerprintOf, readCall } from './call.ts'
import type { GatewayDeps } from './deps.ts'

const pageRows = 200
// Further back nobody looks: where so many wait, whoever waits asks again.
const pagesMax = { approved: 10, pending: 10, denied: 1 }

/** A call as it will be made, without an id. */
export interface NewEnvelope {
  readonly capability_id: string
  readonly [member: string]: unknown
}

/**
 * The id of the caller's call like this one that has people's yes, still waits for it, or has their no: for as long as the
 * request would have been open they are not asked the same again.
 */
export async function waitingCall(
  deps: GatewayDeps,
  caller: CallCaller,
  envelope: NewEnvelope,
): Promise<string | undefined> {
  if (!mayWait(deps, envelope.capability_id)) return undefined
  const call = readCall(envelope, caller, deps.ids)
  const wanted = fingerprintOf(call)
  const isIt = (stored: StoredApproval): boolean => {
    const { fingerprint, record_key } = privateOf(stored)
    return (
      fingerprint === wanted &&
      stored.request.actor?.id === call.actor?.id &&
      record_key === recordKey({ caller, invocationId: stored.request.invocation_id }) &&
      !isOver(deps, stored.request)
    )
  }
  for (const state of ['approved', 'denied', 'pending'] as const) {
    const found = await newest(deps, state, isIt)
    if (found !== undefined) return found
  }
  return undefined
}

/** Most capabilities never ask anybody: then there is nothing to look for. */
const mayWait = ({ offer }: GatewayDeps, capabilityId: string): boolean => {
  const { registry } = offer()
  return registry.versions(capabilityId).some((version) => registry.get(capabilityId, version)?.mayNeedApproval)
}

async function newest(
  { store, tenant }: GatewayDeps,
  state: keyof typeof pagesMax,
  isIt: (stored: StoredApproval) => boolean,
): Promise<string | undefined> {
  let cursor: string | undefined
  for (let page = 0; page < pagesMax[state]; page++) {
    const at = { limit: pageRows, ...(cursor !== undefined && { cursor }) }
    const { items, next } = await store.read(() => approvalRecords.list(tenant, { state }, at))
    const found = items.find(isIt)
    if (found !== undefined || next === undefined) return found?.request.invocation_id
    cursor = next
  }
  return undefined
}

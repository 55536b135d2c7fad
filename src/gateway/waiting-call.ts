import type { Json } from '../base/canonical.ts'
import { payloadCommitment } from '../evidence/event.ts'
import { approvalRecords, type StoredApproval } from '../storage/approvals.ts'
import { privateOf, recordKey } from './approval-request.ts'
import type { CallCaller } from './call.ts'
import type { GatewayDeps } from './deps.ts'

const pageRows = 200
// Further back nobody looks: where so many wait, whoever waits asks again.
const pagesMax = 10

/** The id of the caller's call with this content that has people's yes, or still waits for it. */
export async function waitingCall(
  deps: GatewayDeps,
  caller: CallCaller,
  capabilityId: string,
  payload: Json,
): Promise<string | undefined> {
  if (!mayWait(deps, capabilityId)) return undefined
  const commitment = payloadCommitment(payload)
  const isIt = (stored: StoredApproval): boolean => {
    const { capability, payload_commitment, invocation_id: invocationId } = stored.request
    return (
      capability.id === capabilityId &&
      payload_commitment === commitment &&
      privateOf(stored).record_key === recordKey({ caller, invocationId })
    )
  }
  return (await newest(deps, 'approved', isIt)) ?? (await newest(deps, 'pending', isIt))
}

/** Most capabilities never ask anybody: then there is nothing to look for. */
const mayWait = ({ offer }: GatewayDeps, capabilityId: string): boolean => {
  const { registry } = offer()
  return registry.versions(capabilityId).some((version) => registry.get(capabilityId, version)?.mayNeedApproval)
}

async function newest(
  { store, tenant }: GatewayDeps,
  state: 'approved' | 'pending',
  isIt: (stored: StoredApproval) => boolean,
): Promise<string | undefined> {
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const at = { limit: pageRows, ...(cursor !== undefined && { cursor }) }
    const { items, next } = await store.read(() => approvalRecords.list(tenant, { state }, at))
    const found = items.find(isIt)
    if (found !== undefined || next === undefined) return found?.request.invocation_id
    cursor = next
  }
  return undefined
}

import type { Json } from '../base/canonical.ts'
import { payloadCommitment } from '../evidence/event.ts'
import { approvalRecords, type StoredApproval } from '../storage/approvals.ts'
import { privateOf, recordKey } from './approval-request.ts'
import type { CallCaller } from './call.ts'
import type { GatewayDeps } from './deps.ts'

// Further back nobody looks: whoever waits that long asks again.
const lookedAtMax = 200

/** The id of the caller's call with this content that has people's yes, or still waits for it. */
export async function waitingCall(
  { store, tenant }: GatewayDeps,
  caller: CallCaller,
  capabilityId: string,
  payload: Json,
): Promise<string | undefined> {
  const commitment = payloadCommitment(payload)
  const isIt = (stored: StoredApproval): boolean => {
    const { capability, payload_commitment, invocation_id } = stored.request
    return (
      capability.id === capabilityId &&
      payload_commitment === commitment &&
      privateOf(stored).record_key === recordKey({ caller, invocationId: invocation_id })
    )
  }
  for (const state of ['approved', 'pending'] as const) {
    const { items } = await store.read(() => approvalRecords.list(tenant, { state }, { limit: lookedAtMax }))
    const found = items.find(isIt)
    if (found !== undefined) return found.request.invocation_id
  }
  return undefined
}

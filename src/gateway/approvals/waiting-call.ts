import { approvalRecords } from '../../storage/tables/approvals.ts'
import { type CallCaller, callKey, fingerprintOf, readCall } from '../call.ts'
import type { GatewayDeps } from '../deps.ts'
import { askOf } from './request.ts'

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
  const ask = askOf(callKey(caller.name), fingerprintOf(call), call.actor)
  const found = await deps.store.read(() => approvalRecords.findByAsk(deps.tenant, ask, deps.clock.now()))
  return found?.request.invocation_id
}

/** Most capabilities never ask anybody: then there is nothing to look for. */
const mayWait = ({ offer }: GatewayDeps, capabilityId: string): boolean => {
  const { registry } = offer()
  return registry.versions(capabilityId).some((version) => registry.get(capabilityId, version)?.mayNeedApproval)
}

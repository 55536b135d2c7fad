import type { ApprovalRequest } from '../../model/approval.ts'
import { allPages } from '../../storage/page.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import type { GatewayDeps } from '../deps.ts'
import { isOver } from './ask.ts'
import { ineligibleBecause } from './valid-votes.ts'

/** What waits for this person: requests they may decide about and have not. What the queue keeps to itself stays there. */
export async function pendingFor(deps: GatewayDeps, principal: string): Promise<readonly ApprovalRequest[]> {
  const { pending, own } = await deps.store.read(function* () {
    const own = yield* approversInOffice(deps.tenant, principal)
    if (own.length === 0) return { pending: [], own }
    return {
      pending: yield* allPages((options) => approvalRecords.list(deps.tenant, { state: 'pending' }, options)),
      own,
    }
  })
  return pending
    .filter(({ request }) => !isOver(deps, request))
    .filter(
      ({ request }) => !request.votes.some(({ approver }) => own.some(({ approver_id }) => approver_id === approver)),
    )
    .filter((stored) => own.some((approver) => ineligibleBecause(deps, stored, approver) === undefined))
    .map(({ request }) => request)
}

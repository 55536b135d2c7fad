import type { ApprovalRequest } from '../../model/approval.ts'
import { allPages, type PageOptions } from '../../storage/page.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import { approversInOffice } from '../../storage/tables/identities.ts'
import { type CallCaller, callKey, fingerprintOf, readCall } from '../call.ts'
import type { GatewayDeps } from '../deps.ts'
import { within } from '../within.ts'
import { askOf, isOver, privateOf } from './request.ts'
import { ineligibleBecause } from './votes.ts'

/** What waits for this person: requests they may decide about and have not. What the queue keeps to itself stays there. */
export async function pendingFor(deps: GatewayDeps, principal: string): Promise<readonly ApprovalRequest[]> {
  const { pending, own } = await deps.store.read(function* () {
    const own = yield* approversInOffice(deps.tenant, principal)
    const list = (options: PageOptions) => approvalRecords.list(deps.tenant, { state: 'pending' }, options)
    return { own, pending: own.length === 0 ? [] : yield* allPages(list) }
  })
  const hasVoted = ({ votes }: ApprovalRequest): boolean =>
    votes.some(({ approver }) => own.some(({ approver_id }) => approver_id === approver))
  return pending
    .filter((stored) => !isOver(deps, stored.request) && !hasVoted(stored.request))
    .filter((stored) => own.some((approver) => ineligibleBecause(deps, stored, approver) === undefined))
    .map(({ request }) => request)
}

/** A call as it will be made, without an id. */
export interface NewEnvelope {
  readonly capability_id: string
  readonly [member: string]: unknown
}

/** The id of the caller's own call like this one that people were asked about, as long as its request would be open. */
export async function waitingCall(deps: GatewayDeps, caller: CallCaller, envelope: NewEnvelope) {
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

// Decisions of this process are told at once; those of others are seen at the next look.
const lookMs = 250

export function openWaiting({ store, tenant }: GatewayDeps) {
  const waiters = new Set<{ id: string; wake: () => void }>()
  let closed = false
  return {
    told: (id: string): void => {
      for (const waiter of waiters) if (waiter.id === id) waiter.wake()
    },
    /** The request once decided, or the one that replaced it; still pending when the time is up or we close. */
    wait: async (id: string, until: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {}) => {
      const { signal, timeoutMs = Number.POSITIVE_INFINITY } = until
      const waiter = { id, wake: (): void => undefined }
      const wake = () => waiter.wake()
      waiters.add(waiter)
      signal?.addEventListener('abort', wake)
      try {
        for (let left = timeoutMs; ; ) {
          signal?.throwIfAborted()
          // Made before the look: what is told during it is not missed.
          const woken = Promise.withResolvers<void>()
          waiter.wake = woken.resolve
          const stored = await store.read(() => approvalRecords.get(tenant, waiter.id))
          const { replaced_by } = privateOf(stored)
          const ms = Math.min(lookMs, left)
          const waited = woken.promise.then(() => 0)
          if (replaced_by !== undefined) waiter.id = replaced_by
          else if (stored.request.state !== 'pending' || ms <= 0 || closed) return stored.request
          else left -= await within(waited, ms, () => ms)
        }
      } finally {
        waiters.delete(waiter)
        signal?.removeEventListener('abort', wake)
      }
    },
    close: (): void => {
      closed = true
      for (const { wake } of waiters) wake()
    },
  }
}

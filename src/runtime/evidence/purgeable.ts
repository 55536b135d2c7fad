import { leafOf } from '../../evidence/log.ts'
import { recordKeysOf } from '../../gateway/approvals/request.ts'
import { callScope } from '../../gateway/journal.ts'
import { budgetKeysOf, budgetScopes } from '../../gateway/limits/action-limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { isOwnCorrelation } from '../../model/wire/correlation.ts'
import {
  bodiesOf,
  type CallRows,
  callRowsOf,
  type EventPlace,
  lastTimeOf,
  placesOf,
  removeCorrelation,
} from '../../storage/tables/purge.ts'
import type { Change, Work } from '../../storage/work.ts'

/** Why a correlation is not purged. */
export type Reason = 'own' | 'running' | 'approval' | 'indeterminate'

export interface Terms {
  readonly now: number
  /** Nothing of the correlation may be from this time or later. */
  readonly before: string | undefined
  readonly evenIndeterminate: boolean
}

/** What is stored of one correlation, and why it must stay, if it must. */
export interface Standing {
  readonly correlation: string
  readonly events: readonly EventPlace[]
  readonly rows: CallRows
  readonly reason: Reason | undefined
}

/** How correlations stand, all at one moment. Those with nothing in them, or with something too new, are left out. */
export function* lookInto(tenant: TenantId, ids: readonly string[], terms: Terms): Work<readonly Standing[]> {
  const found: Standing[] = []
  for (const id of ids) {
    const standing = yield* standingOf(tenant, id, terms)
    if (standing !== undefined) found.push(standing)
  }
  return found
}

function* standingOf(tenant: TenantId, correlation: string, terms: Terms): Work<Standing | undefined> {
  const { before = '~' } = terms
  // Asked first: a correlation that goes on may be long.
  const last = yield* lastTimeOf(tenant, correlation)
  if (last === undefined || last >= before) return undefined
  const events = yield* placesOf(tenant, correlation)
  if (events.some(({ timestamp }) => timestamp >= before)) return undefined
  if (isOwnCorrelation(correlation)) return { correlation, events, rows: { claims: [], approvals: [] }, reason: 'own' }
  const beginnings = [...new Set(events.map(({ invocationId }) => invocationId))].map(recordKeysOf)
  const rows = yield* callRowsOf(tenant, correlation, callScope, beginnings)
  const reason = useOf(rows, terms.now) ?? (yield* doubtIn(tenant, correlation, events, terms))
  return { correlation, events, rows, reason }
}

/** A yes that was given and not used may be used until its time is over; a request that waits is first to be ended. */
function useOf({ claims, approvals }: CallRows, now: number): Reason | undefined {
  if (claims.some(({ state }) => state === 'running')) return 'running'
  const open = approvals.some(
    ({ state, expiresAtMs }) => state === 'pending' || (state === 'approved' && expiresAtMs > now),
  )
  return open ? 'approval' : undefined
}

function* doubtIn(
  tenant: TenantId,
  correlation: string,
  events: readonly EventPlace[],
  { evenIndeterminate }: Terms,
): Work<Reason | undefined> {
  const open = new Set(
    events.filter(({ eventType }) => eventType === 'execution_indeterminate').map(({ invocationId }) => invocationId),
  )
  if (open.size === 0 || evenIndeterminate) return undefined
  for (const type of ['execution_completed', 'execution_failed'])
    for (const body of yield* bodiesOf(tenant, correlation, type)) {
      const { payload } = JSON.parse(body) as { readonly payload: { readonly reconciles?: string } }
      if (payload.reconciles !== undefined) open.delete(payload.reconciles)
    }
  return open.size > 0 ? 'indeterminate' : undefined
}

/** Takes a correlation away as it stands. */
export const removal = (purgeId: string, { correlation, events, rows }: Standing): Change<void> =>
  removeCorrelation(purgeId, {
    correlation,
    leaves: events.map((event) => ({ sequence: event.sequence, leafHash: leafOf(event) })),
    scope: callScope,
    rows,
    counters: { scopes: budgetScopes, beginning: budgetKeysOf(correlation) },
  })

import { limits } from '../../base/limits.ts'
import { leafOf } from '../../evidence/log.ts'
import { recordKeysOf } from '../../gateway/call.ts'
import { callScope } from '../../gateway/journal.ts'
import { correlationUses } from '../../gateway/limits/limits.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { isOwnCorrelation } from '../../model/wire/correlation.ts'
import { type EventPlace, placesFrom } from '../../storage/tables/events.ts'
import type { CallRows } from '../../storage/tables/purge.ts'
import { bodiesOf, callRowsOf, lastTimeOf, placesOf, removeCorrelation } from '../../storage/tables/purge.ts'
import { isOpenRun } from '../../storage/tables/runs/legs.ts'
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
export interface Candidate {
  readonly correlation: string
  readonly events: readonly EventPlace[]
  readonly rows: CallRows
  readonly reason: Reason | undefined
}

export interface OldBatch {
  /** Correlations with an event from before the time; the purge checks whether all of their events are. */
  readonly ids: readonly string[]
  /** The sequence number that the next batch begins after. */
  readonly after: number
  /** True if the following events are not that old. */
  readonly done: boolean
}

/** A few of the oldest correlations, strictly after a sequence number: bounded work, however much is stored. */
export function* oldCorrelations(tenant: TenantId, before: string, after: number): Work<OldBatch> {
  const places = yield* placesFrom(tenant, after, limits.pageRowsMax)
  const ids = new Set<string>()
  let last = after
  for (const { sequence, correlationId, timestamp } of places) {
    const wanted = timestamp < before && !isOwnCorrelation(correlationId) && !ids.has(correlationId)
    if (wanted && ids.size === limits.purgedPerTurnMax) return { ids: [...ids], after: last, done: false }
    if (wanted) ids.add(correlationId)
    last = sequence
  }
  const done = places.length < limits.pageRowsMax || places.every(({ timestamp }) => timestamp >= before)
  return { ids: [...ids], after: last, done }
}

/** Looks at correlations, all at one moment. Those without events, or with an event that is too new, are left out. */
export function* findCandidates(tenant: TenantId, ids: readonly string[], terms: Terms): Work<readonly Candidate[]> {
  const found: Candidate[] = []
  for (const id of ids) {
    const candidate = yield* findCandidate(tenant, id, terms)
    if (candidate !== undefined) found.push(candidate)
  }
  return found
}

function* findCandidate(tenant: TenantId, correlation: string, terms: Terms): Work<Candidate | undefined> {
  const { before = '~' } = terms
  // Read first: a correlation that goes on may be long.
  const last = yield* lastTimeOf(tenant, correlation)
  if (last === undefined || last >= before) return undefined
  const events = yield* placesOf(tenant, correlation)
  if (events.some(({ timestamp }) => timestamp >= before)) return undefined
  if (isOwnCorrelation(correlation)) return { correlation, events, rows: { claims: [], approvals: [] }, reason: 'own' }
  const beginnings = [...new Set(events.map(({ invocationId }) => invocationId))].map(recordKeysOf)
  const rows = yield* callRowsOf(tenant, correlation, callScope, beginnings)
  const used = (yield* isOpenRun(tenant, correlation)) ? 'running' : openUse(rows, terms.now)
  if (used !== undefined || terms.evenIndeterminate) return { correlation, events, rows, reason: used }
  return { correlation, events, rows, reason: yield* unknownOutcome(tenant, correlation, events) }
}

/** An approval that was given can be used until it expires; a pending request must be decided first. */
function openUse({ claims, approvals }: CallRows, now: number): Reason | undefined {
  if (claims.some(({ state }) => state === 'running')) return 'running'
  const open = approvals.some(
    ({ state, expiresAtMs }) => state === 'pending' || (state === 'approved' && expiresAtMs > now),
  )
  return open ? 'approval' : undefined
}

function* unknownOutcome(
  tenant: TenantId,
  correlation: string,
  events: readonly EventPlace[],
): Work<Reason | undefined> {
  const unknown = events.filter(({ eventType }) => eventType === 'execution_indeterminate')
  const open = new Set(unknown.map(({ invocationId }) => invocationId))
  if (open.size === 0) return undefined
  for (const type of ['execution_completed', 'execution_failed'])
    for (const body of yield* bodiesOf(tenant, correlation, type)) {
      const { payload } = JSON.parse(body) as { readonly payload: { readonly reconciles?: string } }
      if (payload.reconciles !== undefined) open.delete(payload.reconciles)
    }
  return open.size > 0 ? 'indeterminate' : undefined
}

/** Removes a correlation as it was found. */
export const removeCandidate = (purgeId: string, { correlation, events, rows }: Candidate): Change<void> =>
  removeCorrelation(purgeId, {
    correlation,
    leaves: events.map((event) => ({ sequence: event.sequence, leafHash: leafOf(event) })),
    scope: callScope,
    rows,
    uses: correlationUses(correlation),
  })

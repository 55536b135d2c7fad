import { Failure, quote } from '../../base/failure.ts'
import { correlationDigest, type TenantDigest } from '../../evidence/digests.ts'
import { leafOf } from '../../evidence/log.ts'
import { leavesDigest } from '../../evidence/verify/purges.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Change } from '../../storage/work.ts'
import type { Ambit } from '../ambit.ts'
import { adminEvent } from '../identity/admin.ts'
import { type Caller, demand } from '../identity/caller.ts'
import { type OldBatch, oldCorrelations } from './old-correlations.ts'
import { lookInto, type Reason, removal, type Standing, type Terms } from './purgeable.ts'
import { recordAs } from './record.ts'

/** One correlation, or all whose newest event is older than a time (as we write it). */
export type PurgeWish = ({ readonly correlation: string } | { readonly before: string }) & {
  /** Takes calls as well of which nobody knows whether they took effect. */
  readonly evenIndeterminate?: boolean
}

/** What was purged, or would be, and what stays though it is old enough. */
export interface PurgeReport {
  readonly correlations: number
  readonly events: number
  readonly kept: readonly Kept[]
}

export interface Kept {
  readonly correlation: string
  readonly reason: Reason
}

export interface PurgeOptions {
  /** Looks and changes nothing. */
  readonly preview?: boolean
  readonly onProgress?: (report: PurgeReport) => void
}

/**
 * Takes whole correlations out of the store for good: their events, recorded results, chunks, requests for approval and
 * budgets. Of every event the leaf of the log stays, so that signed heads hold; that they were purged, by whom, and a
 * keyed digest of their ids, is recorded. Needs the right to administer; a preview, to audit. One that is in use is `correlation.in_use` when
 * it was named, and otherwise kept.
 */
export async function purgeEvidence(
  ambit: Ambit,
  caller: Caller,
  wish: PurgeWish,
  options: PurgeOptions = {},
): Promise<PurgeReport> {
  demand(caller, options.preview ? 'audit' : 'administer')
  const purging = await openPurging(ambit, caller, wish)
  if ('before' in wish) return purgeOld(ambit, caller.tenant, wish.before, purging, options)
  const { correlation } = wish
  const report = await purging.take([correlation], options.preview ?? false)
  const [kept] = report.kept
  if (kept !== undefined) throw inUse(kept)
  if (report.correlations > 0) return report
  throw new Failure('correlation.not_found', `nothing is recorded under ${quote(correlation)}`, { id: correlation })
}

/** Purges correlations, those that are named at once together or not at all. */
export interface Purging {
  take(ids: readonly string[], preview: boolean): Promise<PurgeReport>
}

export async function openPurging(ambit: Ambit, caller: Caller, wish: PurgeWish): Promise<Purging> {
  const { host_id: hostId } = await ambit.store.read(() => getTenant(caller.tenant))
  const digest = await ambit.keyring.digest(hostId)
  const terms = (): Terms => ({
    now: ambit.clock.now(),
    before: 'before' in wish ? wish.before : undefined,
    evenIndeterminate: wish.evenIndeterminate ?? false,
  })
  return {
    take: async (ids, preview) => {
      for (let attempt = 1; ; attempt++) {
        const found = await ambit.store.read(() => lookInto(caller.tenant, ids, terms()))
        const taken = found.filter(({ reason }) => reason === undefined)
        if (!preview && taken.length > 0) {
          const done = await commit({ ambit, caller, hostId, digest, terms }, taken)
          if (!done && attempt < attemptsMax) continue
          if (!done)
            throw new Failure('store.busy', 'the records kept changing while they were looked at', {}, 'try again')
        }
        return reportOf(found)
      }
    },
  }
}

const attemptsMax = 5

interface Commit {
  readonly ambit: Ambit
  readonly caller: Caller
  readonly hostId: string
  readonly digest: TenantDigest
  readonly terms: () => Terms
}

/** Something came in between what was looked at and the transaction. */
class Changed extends Error {}

async function commit({ ambit, caller, hostId, digest, terms }: Commit, taken: readonly Standing[]): Promise<boolean> {
  const purgeId = ambit.ids.next('inv')
  const ids = taken.map(({ correlation }) => correlation)
  const leaves = leavesOf(taken)
  const payload = {
    correlations: ids.map((id) => correlationDigest(digest, id)),
    events: taken.reduce((sum, { events }) => sum + events.length, 0),
    leaves,
  }
  const event = { ...adminEvent(hostId, 'evidence_purged', payload), invocation_id: purgeId, redacted: true }
  const change: Change = function* (tenant: TenantId) {
    const now = yield* lookInto(tenant, ids, terms())
    if (now.some(({ reason }) => reason !== undefined) || leavesOf(now) !== leaves) throw new Changed()
    for (const standing of now) yield* removal(purgeId, standing)(tenant)
  }
  try {
    await recordAs(ambit, caller, hostId, [event], Object.assign(change, { forgets: true as const }))
    return true
  } catch (error) {
    if (error instanceof Changed) return false
    throw error
  }
}

/** One digest over the leaves of all of them, in the order of the log: as an audit will come by them. */
function leavesOf(standings: readonly Standing[]): string {
  const rows = standings.flatMap(({ events }) => events).sort((a, b) => a.sequence - b.sequence)
  return leavesDigest(rows.map(leafOf))
}

const reportOf = (found: readonly Standing[]): PurgeReport => {
  const taken = found.filter(({ reason }) => reason === undefined)
  return {
    correlations: taken.length,
    events: taken.reduce((sum, { events }) => sum + events.length, 0),
    kept: found.flatMap(({ correlation, reason }) => (reason === undefined ? [] : [{ correlation, reason }])),
  }
}

async function purgeOld(
  ambit: Ambit,
  tenant: TenantId,
  before: string,
  purging: Purging,
  { preview = false, onProgress }: PurgeOptions,
): Promise<PurgeReport> {
  const seen = new Set<string>()
  let report: PurgeReport = { correlations: 0, events: 0, kept: [] }
  for (let batch: OldBatch = { ids: [], after: 0, done: false }; !batch.done; ) {
    batch = await oldCorrelations(ambit.store, tenant, before, batch.after)
    const ids = batch.ids.filter((id) => !seen.has(id))
    for (const id of ids) seen.add(id)
    const { correlations, events, kept } = await purging.take(ids, preview)
    report = {
      correlations: report.correlations + correlations,
      events: report.events + events,
      kept: [...report.kept, ...kept],
    }
    onProgress?.(report)
  }
  return report
}

const why: Readonly<Record<Reason, readonly [why: string, help: string]>> = {
  own: ["it is the runtime's own history", 'name the correlation of a task'],
  running: ['a call in it is running', 'wait until it has ended'],
  approval: ['people may still approve a call in it', 'decide about the request, or wait until its time is over'],
  indeterminate: [
    'nobody knows whether a call in it took effect',
    'find out first; to purge it all the same add `--even-indeterminate`',
  ],
}

/** Why a correlation stays, for people. */
export const reasonText = (reason: Reason): string => why[reason][0]

function inUse({ correlation, reason }: Kept): Failure {
  const [text, help] = why[reason]
  return new Failure('correlation.in_use', `correlation ${quote(correlation)} is kept: ${text}`, { reason }, help)
}

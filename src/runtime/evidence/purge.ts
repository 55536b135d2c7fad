import { Failure, quote } from '../../base/failure.ts'
import { formatTime } from '../../base/time.ts'
import { correlationDigest } from '../../evidence/digests.ts'
import { leafOf } from '../../evidence/log.ts'
import { leavesDigest } from '../../evidence/verify/audit.ts'
import { FactsChanged } from '../../gateway/events.ts'
import { inSteps, type Steps } from '../../gateway/recovery/steps.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { dropOldMessages } from '../../storage/tables/runs/sessions.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Change, Work } from '../../storage/work.ts'
import { adminEvent } from '../identity/admin.ts'
import { type Caller, demand, operator } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import type { Candidate, OldBatch, Reason, Terms } from './purgeable.ts'
import { findCandidates, oldCorrelations, removeCandidate } from './purgeable.ts'
import { recordAs, untilUnchanged } from './record.ts'

/** One correlation, or all whose newest event is older than a time (as we write it). */
export type PurgeWish = ({ readonly correlation: string } | { readonly before: string }) & {
  /** Includes calls whose effect is unknown. */
  readonly evenIndeterminate?: boolean
}

/** What was purged, or would be, and what is kept although it is old enough. */
export interface PurgeReport {
  readonly correlations: number
  readonly events: number
  readonly kept: readonly { readonly correlation: string; readonly reason: Reason }[]
}

export interface PurgeOptions {
  /** Looks and changes nothing. */
  readonly preview?: boolean
}

/**
 * Removes whole correlations from the store for good: their events, recorded results, chunks, requests for approval and
 * budgets, and the run of that id with its children. The log keeps the leaf of every event, so that signed heads hold; an event records who purged them, with a
 * keyed digest of their ids. Needs the right to administer; a preview, to audit. A correlation in use is kept, and
 * `correlation.in_use` when it was named.
 */
export async function purgeEvidence(
  ambit: Runtime,
  caller: Caller,
  wish: PurgeWish,
  options: PurgeOptions = {},
): Promise<PurgeReport> {
  demand(caller, options.preview ? 'audit' : 'administer')
  const job = await jobOf(ambit, caller, wish)
  if ('before' in wish) return purgeOld(job, wish.before, options)
  const { correlation } = wish
  const report = await purgeTogether(job, [correlation], options.preview)
  const [kept] = report.kept
  if (kept !== undefined) {
    const [text, help] = why[kept.reason]
    const data = { reason: kept.reason }
    throw new Failure('correlation.in_use', `correlation ${quote(correlation)} is kept: ${text}`, data, help)
  }
  if (report.correlations > 0) return report
  throw new Failure('correlation.not_found', `nothing is recorded under ${quote(correlation)}`, { id: correlation })
}

interface Job {
  readonly ambit: Runtime
  readonly caller: Caller
  readonly hostId: string
  readonly terms: Omit<Terms, 'now'>
}

async function jobOf(ambit: Runtime, caller: Caller, wish: PurgeWish): Promise<Job> {
  const { host_id: hostId } = await ambit.store.read(() => getTenant(caller.tenant))
  const before = 'before' in wish ? wish.before : undefined
  return { ambit, caller, hostId, terms: { before, evenIndeterminate: wish.evenIndeterminate ?? false } }
}

/** Purges the named correlations together, or none of them. */
const purgeTogether = (job: Job, ids: readonly string[], preview = false): Promise<PurgeReport> =>
  untilUnchanged('the records', async () => {
    const found = await job.ambit.store.read(() => lookAt(job, ids))
    const taken = found.filter(({ reason }) => reason === undefined)
    if (!preview && taken.length > 0) await commit(job, taken)
    const kept = found.flatMap(({ correlation, reason }) => (reason === undefined ? [] : [{ correlation, reason }]))
    return { correlations: taken.length, events: countEvents(taken), kept }
  })

const lookAt = ({ ambit, caller, terms }: Job, ids: readonly string[]): Work<readonly Candidate[]> =>
  findCandidates(caller.tenant, ids, { ...terms, now: ambit.clock.now() })

async function commit(job: Job, taken: readonly Candidate[]): Promise<void> {
  const { ambit, caller, hostId } = job
  const purgeId = ambit.ids.next('inv')
  const ids = taken.map(({ correlation }) => correlation)
  const leaves = digestLeaves(taken)
  const digest = await ambit.keyring.digest(hostId)
  const payload = { correlations: ids.map((id) => correlationDigest(digest, id)), events: countEvents(taken), leaves }
  const event = { ...adminEvent(hostId, 'evidence_purged', payload), invocation_id: purgeId, redacted: true }
  const change: Change = function* (tenant: TenantId) {
    const now = yield* lookAt(job, ids)
    if (now.some(({ reason }) => reason !== undefined) || digestLeaves(now) !== leaves) throw new FactsChanged()
    for (const candidate of now) yield* removeCandidate(purgeId, candidate)(tenant)
  }
  await recordAs(ambit, caller, hostId, [event], Object.assign(change, { forgets: true as const }))
}

/** One digest over all leaves in the order of the log, as an audit reads them. */
function digestLeaves(candidates: readonly Candidate[]): string {
  const rows = candidates.flatMap(({ events }) => events).sort((a, b) => a.sequence - b.sequence)
  return leavesDigest(rows.map(leafOf))
}

const countEvents = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { events }) => sum + events.length, 0)

async function purgeOld(job: Job, before: string, { preview }: PurgeOptions): Promise<PurgeReport> {
  const seen = new Set<string>()
  const report = { correlations: 0, events: 0, kept: [] as PurgeReport['kept'][number][] }
  for (let batch: OldBatch = { ids: [], after: 0, done: false }; !batch.done; ) {
    const { after } = batch
    batch = await job.ambit.store.read(() => oldCorrelations(job.caller.tenant, before, after))
    const ids = batch.ids.filter((id) => !seen.has(id))
    for (const id of ids) seen.add(id)
    const { correlations, events, kept } = await purgeTogether(job, ids, preview)
    report.correlations += correlations
    report.events += events
    report.kept.push(...kept)
  }
  return report
}

const dayMs = 86_400_000

/** The time before which correlations are purged; undefined where all are kept. */
export const retainedSince = ({ settings: { retention }, clock }: Runtime): string | undefined =>
  retention && formatTime(clock.now() - retention.days * dayMs)

/** Purges the correlations that are older than the configuration allows, a few at each call. Returns how many. */
export function openRetention(ambit: Runtime, tenant: TenantId, hostId: string): (steps: Steps) => Promise<number> {
  const host: Caller = { ...operator(tenant), subject: { id: hostId, type: 'host', verified: true, tenant } }
  let after = 0
  return async (steps) => {
    const before = retainedSince(ambit)
    if (before === undefined) return 0
    await dropConversations(ambit, tenant, steps)
    const job = await jobOf(ambit, host, { before })
    let purged = 0
    await inSteps(steps, async () => {
      const batch = await ambit.store.read(() => oldCorrelations(tenant, before, after))
      after = batch.done ? 0 : batch.after
      if (batch.ids.length > 0) purged += (await purgeTogether(job, batch.ids)).correlations
      return !batch.done
    })
    return purged
  }
}

const messagesPerStep = 100

async function dropConversations({ settings: { retention }, store, clock }: Runtime, tenant: TenantId, steps: Steps) {
  const { conversationDays: days } = retention ?? {}
  if (days === undefined) return
  const dropSome = () => store.write(tenant, dropOldMessages(clock.now() - days * dayMs, messagesPerStep))
  await inSteps(steps, async () => (await dropSome()) === messagesPerStep)
}

const why: Readonly<Record<Reason, readonly [why: string, help: string]>> = {
  own: ["it is the runtime's own history", 'name the correlation of a task'],
  running: ['a call or run in it has not ended', 'wait until it has ended'],
  approval: ['people may still approve a call in it', 'decide about the request, or wait until its time is over'],
  indeterminate: [
    'it is unknown whether a call in it took effect',
    'find out first; to purge it all the same add `--even-indeterminate`',
  ],
}

/** Why a correlation stays, for people. */
export const reasonText = (reason: string): string => why[reason as Reason]?.[0] ?? reason

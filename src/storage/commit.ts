import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { EventDraft, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { type Chain, eventRow, loadChains, noteTime, saveChains } from './chain.ts'
import { type Database, Duplicate } from './database.ts'
import { events as eventsTable } from './schema.ts'
import type { Commit, Committed } from './store.ts'
import type { Work } from './work.ts'

type AnyCommit = Commit<unknown> | { readonly change: Commit<unknown>['change'] }

interface Pending {
  readonly tenant: TenantId
  readonly commit: AnyCommit
  readonly resolve: (committed: Committed<unknown>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Commits that wait at the same time share one transaction, and so one wait for the disk and one counter update.
 * When one of them fails the batch is undone, and those before and after it are tried again without it: a failure
 * stays with its caller and costs the others a few transactions, not one each.
 */
export function groupCommit(
  database: Database,
): <T>(tenant: TenantId, commit: Commit<T> | { change: Commit<T>['change'] }) => Promise<Committed<T>> {
  const lanes = new Map<string, Pending[]>()

  const drain = async (lane: string, waiting: Pending[]): Promise<void> => {
    while (waiting.length > 0) await settle(database, takeBatch(waiting))
    lanes.delete(lane)
  }

  return (tenant, commit) =>
    new Promise((resolve, reject) => {
      if (draftsOf(commit).length > limits.eventsPerCommitMax) return void reject(tooMany())
      const pending = { tenant, commit, resolve, reject } as Pending
      const lane = database.lane(tenant)
      const waiting = lanes.get(lane)
      if (waiting !== undefined) return void waiting.push(pending)
      const started = [pending]
      lanes.set(lane, started)
      // One turn of the event loop lets everyone who is ready join.
      setImmediate(() => void drain(lane, started))
    })
}

function takeBatch(waiting: Pending[]): Pending[] {
  let events = 0
  let count = 0
  for (const { commit } of waiting) {
    events += draftsOf(commit).length
    if (count > 0 && (count >= limits.commitsPerBatchMax || events > limits.eventsPerCommitMax)) break
    count++
  }
  return waiting.splice(0, count)
}

async function settle(database: Database, batch: readonly Pending[], again = true): Promise<void> {
  if (batch.length === 0) return
  const progress: Progress = {}
  try {
    // A batch locks rows of many callers in any order, so two of them side by side would wait for each other.
    const queue = batch.length > 1 ? database.lane(batch[0]?.tenant ?? '') : undefined
    const done = await database.write(() => commitAll(batch, progress), queue)
    for (const [index, pending] of batch.entries()) pending.resolve(done[index] as Committed<unknown>)
  } catch (error) {
    if (isStoreFailure(error)) for (const pending of batch) pending.reject(error)
    else await settleApart(database, batch, error, { at: progress.at ?? batch.length >> 1, again })
  }
}

/** `at` is the place of the commit that failed, or the middle when nobody knows. */
async function settleApart(
  database: Database,
  batch: readonly Pending[],
  error: unknown,
  { at, again }: { at: number; again: boolean },
): Promise<void> {
  if (at > 0) {
    // What came before is settled first: this one may have failed because of something that will not be kept.
    await settle(database, batch.slice(0, at))
    return settle(database, batch.slice(at))
  }
  // Another process took the key a moment ago: now the change sees it, and can say itself what that means.
  if (error instanceof Duplicate && again) return settle(database, batch, false)
  batch[0]?.reject(error instanceof Duplicate ? conflict() : error)
  return settle(database, batch.slice(1))
}

/** Whose own change or seal is under way, by place in the batch. */
interface Progress {
  at?: number | undefined
}

function* commitAll(batch: readonly Pending[], progress: Progress): Work<readonly Committed<unknown>[]> {
  const values: unknown[] = []
  for (const [index, { tenant, commit }] of batch.entries()) {
    progress.at = index
    values.push(commit.change && (yield* commit.change(tenant)))
  }
  progress.at = undefined
  // The counters are locked last, after everything that may wait or fail, and for the shortest time.
  const chains = yield* loadChains(batch.map(({ tenant, commit }) => ({ tenant, drafts: draftsOf(commit) })))
  const sealed = batch.map(({ tenant, commit }, index) => {
    progress.at = index
    return 'seal' in commit ? sealInto(chains.get(tenant), commit) : []
  })
  progress.at = undefined
  const rows = batch.flatMap(({ tenant }, index) => (sealed[index] ?? []).map((event) => eventRow(tenant, event)))
  if (rows.length > 0) yield [{ into: eventsTable, rows }, ...saveChains(chains)]
  return values.map((value, index) => ({ value, events: sealed[index] ?? [] }))
}

function sealInto(chain: Chain | undefined, { events, seal }: Commit<unknown>): readonly SealedEvent[] {
  if (chain === undefined || events.length === 0) return []
  const sealed = seal(events, chain)
  if (sealed.events.length !== events.length) throw new Error('the seal function left an event out')
  for (const event of sealed.events) {
    if (event.sequence !== ++chain.sequence) throw new Error('the seal function did not take the next sequence')
    chain.tails.set(event.correlationId, event.contentHash)
    noteTime(chain, event.timestamp)
  }
  chain.log = sealed.log
  return sealed.events
}

const draftsOf = (commit: AnyCommit): readonly EventDraft[] => ('seal' in commit ? commit.events : [])

const isStoreFailure = (error: unknown): boolean => error instanceof Failure && error.code.startsWith('store.')

const tooMany = (): Failure =>
  new Failure('field.invalid', `\`events\`: at most ${limits.eventsPerCommitMax} are committed together`, {
    pointer: '/events',
  })

const conflict = (): Failure => new Failure('event.conflict', 'a record with this id exists already')

import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { EventDraft, Seal, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { besidesOf, type Chain, eventRow, lastEvents, noteTime, readChains, recallChains } from './chain.ts'
import { type Database, Duplicate } from './database.ts'
import { type KnownChains, knownChains } from './known-chains.ts'
import { makePace } from './pace.ts'
import { events as eventsTable } from './schema.ts'
import { noteEvent } from './sections.ts'
import type { Commit, Committed } from './store.ts'
import type { Row, Statement, Value, Work } from './work.ts'

type AnyCommit = Commit<unknown> | { readonly change: Commit<unknown>['change'] }

interface Pending {
  readonly tenant: TenantId
  readonly commit: AnyCommit
  readonly drafts: readonly EventDraft[]
  readonly opens: string | undefined
  readonly resolve: (committed: Committed<unknown>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Commits that wait at the same time share one transaction, and so one wait for the disk.
 * When one of them fails the batch is undone, and those before and after it are tried again without it: a failure
 * stays with its caller and costs the others a few transactions, not one each.
 */
export function groupCommit(
  database: Database,
): <T>(tenant: TenantId, commit: Commit<T> | { change: Commit<T>['change'] }) => Promise<Committed<T>> {
  const lanes = new Map<string, Lane>()
  const place: Place = { database, known: knownChains() }
  const pace = makePace()

  const drain = async (name: string, lane: Lane): Promise<void> => {
    lane.busy = true
    while (lane.waiting.length > 0) {
      const waits = !pace.mayGo(name)
      // One turn of the event loop lets everyone who is ready join.
      if (waits) await new Promise(setImmediate)
      const batch = takeBatch(lane.waiting)
      pace.took(name, batch.length, waits)
      await settle(place, batch)
    }
    lane.busy = false
    if (lanes.size > lanesMax) lanes.delete(name)
  }

  return (tenant, commit) =>
    new Promise((resolve, reject) => {
      const { events: drafts, opens } = 'seal' in commit ? commit : noEvents
      if (drafts.length > limits.eventsPerCommitMax) return void reject(tooMany())
      const pending = { tenant, commit, drafts, opens, resolve, reject } as Pending
      const name = database.lane(tenant)
      const lane = lanes.get(name) ?? { waiting: [], busy: false }
      lanes.set(name, lane)
      lane.waiting.push(pending)
      if (!lane.busy) void drain(name, lane)
    })
}

interface Lane {
  readonly waiting: Pending[]
  /** Whether somebody takes what waits. */
  busy: boolean
}
const lanesMax = 1024

const noEvents: Pick<Commit<unknown>, 'events' | 'opens'> = { events: [] }

function takeBatch(waiting: Pending[]): Pending[] {
  let events = 0
  let count = 0
  for (const { drafts } of waiting) {
    events += drafts.length
    if (count > 0 && (count >= limits.commitsPerBatchMax || events > limits.eventsPerCommitMax)) break
    count++
  }
  return waiting.splice(0, count)
}

/** Where commits go, and what is known of it. */
interface Place {
  readonly database: Database
  readonly known: KnownChains
}

async function settle(place: Place, batch: readonly Pending[], again = true): Promise<void> {
  if (batch.length === 0) return
  const progress: Progress = { remembered: false, sealing: false }
  for (const { tenant, commit } of batch) if (commit.change?.forgets) place.known.forget(tenant)
  try {
    const done = await place.database.write(() => commitAll(batch, progress, place), queueOf(place, batch))
    for (const [tenant, chain] of done.chains) place.known.keep(tenant, chain)
    for (const [index, committed] of done.committed.entries()) batch[index]?.resolve(committed)
  } catch (error) {
    const away = isStoreFailure(error)
    if (away || error instanceof Duplicate || progress.sealing) forgetAll(place, batch)
    if (away) for (const pending of batch) pending.reject(error)
    // Perhaps another process has written to a chain since: now it is read.
    else if (error instanceof Duplicate && progress.remembered) await settle(place, batch, again)
    else await settleApart(place, batch, error, { at: progress.at ?? batch.length >> 1, again })
  }
}

/**
 * Whoever writes to a chain does so alone, and reads where it stands only then. Besides, a batch locks rows of many
 * callers in any order: two of them side by side would wait for each other.
 */
const queueOf = ({ database }: Place, batch: readonly Pending[]): string | undefined =>
  batch.length > 1 || batch.some(({ drafts }) => drafts.length > 0) ? database.lane(batch[0]?.tenant ?? '') : undefined

/** `at` is the place of the commit that failed, or the middle when nobody knows. */
async function settleApart(
  place: Place,
  batch: readonly Pending[],
  error: unknown,
  { at, again }: { at: number; again: boolean },
): Promise<void> {
  if (at > 0) {
    // What came before is settled first: this one may have failed because of something that will not be kept.
    await settle(place, batch.slice(0, at))
    return settle(place, batch.slice(at))
  }
  // Another process took the key a moment ago: now the change sees it, and can say itself what that means.
  if (error instanceof Duplicate && again) return settle(place, batch, false)
  batch[0]?.reject(error instanceof Duplicate ? conflict() : error)
  return settle(place, batch.slice(1))
}

const forgetAll = ({ known }: Place, batch: readonly Pending[]): void => {
  for (const { tenant } of batch) known.forget(tenant)
}

interface Progress {
  /** Whose own change or seal is under way, by place in the batch. */
  at?: number | undefined
  /** Whether a chain was taken from memory. */
  remembered: boolean
  /** Whether chains may have been changed that are not committed yet. */
  sealing: boolean
}

interface Done {
  readonly committed: readonly Committed<unknown>[]
  readonly chains: ReadonlyMap<TenantId, Chain>
}

function* commitAll(batch: readonly Pending[], progress: Progress, place: Place): Work<Done> {
  const { known, database } = place
  // The database asks for it once more: what was sealed the first time is not there.
  if (progress.sealing) forgetAll(place, batch)
  const values = batch.some(hasChange) ? yield* makeChanges(batch, progress) : []
  progress.sealing = true
  const recalled = recallChains(batch, known)
  if (recalled.unread.size > 0) yield* readChains(recalled)
  const { chains } = recalled
  for (const chain of chains.values()) progress.remembered ||= chain.remembered
  const committed: Committed<unknown>[] = []
  const rows: (readonly Value[])[] = []
  for (const { tenant, commit, drafts } of batch) {
    progress.at = committed.length
    const chain = chains.get(tenant)
    const events = 'seal' in commit && chain !== undefined ? sealInto(chain, drafts, commit.seal) : []
    for (const event of events) rows.push(eventRow(tenant, event))
    committed.push({ value: values[committed.length], events })
  }
  progress.at = undefined
  if (rows.length > 0) {
    const version = database.version?.()
    const last = lastEvents(chains, version)
    const answers = yield [...last.statements, { into: eventsTable, rows }, ...besidesOf(chains)]
    // What was built on is not the end any more: as with a number that is taken, the chain has to be read.
    if (!last.agree(answers)) throw new Duplicate()
    for (const chain of chains.values()) chain.seen = version
  }
  return { committed, chains }
}

const hasChange = ({ commit }: Pending): boolean => commit.change !== undefined

/** The changes one after the other; those next to each other that are one statement each travel together. */
function* makeChanges(batch: readonly Pending[], progress: Progress): Work<readonly unknown[]> {
  const values: unknown[] = []
  while (values.length < batch.length) {
    const singles = singlesFrom(batch, values.length)
    const answers = singles.length > 0 ? yield singles.map(({ statement }) => statement) : []
    for (const [index, { read }] of singles.entries()) {
      progress.at = values.length
      values.push(read(answers[index] ?? []))
    }
    progress.at = values.length
    const next = batch[values.length]
    if (next !== undefined) values.push(next.commit.change && (yield* next.commit.change(next.tenant)))
  }
  progress.at = undefined
  return values
}

interface SingleStep {
  readonly statement: Statement
  readonly read: (rows: readonly Row[]) => unknown
}

function singlesFrom(batch: readonly Pending[], start: number): readonly SingleStep[] {
  const found: SingleStep[] = []
  for (let index = start; index < batch.length; index++) {
    const { tenant, commit } = batch[index] as Pending
    const single = commit.change?.single
    if (single === undefined) break
    found.push({ statement: single.statement(tenant), read: single.read })
  }
  return found
}

function sealInto(chain: Chain, drafts: readonly EventDraft[], seal: Seal): readonly SealedEvent[] {
  const sealed = seal(drafts, chain)
  if (sealed.length !== drafts.length) throw new Error('the seal function left an event out')
  for (const event of sealed) {
    if (event.sequence !== ++chain.sequence) throw new Error('the seal function did not take the next sequence')
    chain.hash = event.contentHash
    chain.tails.set(event.correlationId, event.contentHash)
    noteTime(chain, event.timestamp)
    noteEvent(chain.sections, event)
  }
  return sealed
}

const isStoreFailure = (error: unknown): boolean => error instanceof Failure && error.code.startsWith('store.')

const tooMany = (): Failure =>
  new Failure('field.invalid', `\`events\`: at most ${limits.eventsPerCommitMax} are committed together`, {
    pointer: '/events',
  })

const conflict = (): Failure => new Failure('event.conflict', 'a record with this id exists already')

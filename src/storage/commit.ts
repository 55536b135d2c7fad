import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { EventDraft, Seal, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import {
  addBesides,
  askEnd,
  type Chain,
  eventRow,
  isEnd,
  noteTime,
  readChains,
  recallChains,
  type Unsure,
  unsureOf,
} from './chain.ts'
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

/** Commits that wait at the same time share one transaction, and so one wait for the disk. */
export interface Queue {
  commit<T>(tenant: TenantId, commit: Commit<T> | { change: Commit<T>['change'] }): Promise<Committed<T>>
  /** Resolves when nothing waits. */
  idle(): Promise<void>
}

/**
 * When one of a batch fails the batch is undone, and those before and after it are tried again without it: a failure
 * stays with its caller and costs the others a few transactions, not one each.
 */
export function groupCommit(database: Database): Queue {
  const lanes = new Map<string, Lane>()
  const place: Place = { database, known: knownChains() }
  const laneOf = (name: string): Lane => {
    const known = lanes.get(name)
    if (known !== undefined) return known
    const lane = openLane(place, () => {
      if (lanes.size > lanesMax) lanes.delete(name)
    })
    lanes.set(name, lane)
    return lane
  }
  return {
    commit: (tenant, commit) =>
      new Promise((resolve, reject) => {
        const { events: drafts, opens } = 'seal' in commit ? commit : noEvents
        if (drafts.length > limits.eventsPerCommitMax) return void reject(tooMany())
        laneOf(database.lane(tenant)).add({ tenant, commit, drafts, opens, resolve, reject } as Pending)
      }),
    idle: async () => {
      await Promise.all([...lanes.values()].map((lane) => lane.idle()))
    },
  }
}

interface Lane {
  add(pending: Pending): void
  idle(): Promise<void>
}
const lanesMax = 1024
const atOnce = Promise.resolve()

/** Takes what waits in a lane, one batch after the other. */
function openLane(place: Place, ended: () => void): Lane {
  const waiting: Pending[] = []
  const pace = makePace()
  const whenIdle: (() => void)[] = []
  let busy = false

  const turn = (): void => {
    if (waiting.length > 0) {
      if (pace.mayGo()) go(false)
      // One turn of the event loop lets everyone who is ready join.
      else setImmediate(go, true)
      return
    }
    busy = false
    ended()
    for (const resolve of whenIdle.splice(0)) resolve()
  }
  const go = (waited: boolean): void => {
    const batch = takeBatch(waiting)
    pace.took(batch.length, waited)
    const settling = settle(place, batch)
    // Those whom an answer wakes may join the next batch.
    void (settling ?? atOnce).then(turn)
  }
  return {
    add: (pending) => {
      waiting.push(pending)
      if (busy) return
      busy = true
      turn()
    },
    idle: () => new Promise((resolve) => (busy ? whenIdle.push(resolve) : resolve())),
  }
}

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

function settle(place: Place, batch: readonly Pending[], again = true): Promise<void> | undefined {
  if (batch.length === 0) return undefined
  const progress: Progress = { remembered: false, sealing: false }
  for (const { tenant, commit } of batch) if (commit.change?.forgets) place.known.forget(tenant)
  const failed = (error: unknown) => settleFailed(place, batch, error, { ...progress, again })
  try {
    const done = place.database.write(() => commitAll(batch, progress, place), queueOf(place, batch))
    if (done instanceof Promise) return done.then((value) => settled(place, batch, value), failed)
    return settled(place, batch, done)
  } catch (error) {
    return failed(error)
  }
}

function settled({ known }: Place, batch: readonly Pending[], { chains, committed }: Done): undefined {
  for (const [tenant, chain] of chains) known.keep(tenant, chain)
  for (let index = 0; index < batch.length; index++) batch[index]?.resolve(committed[index] as Committed<unknown>)
}

async function settleFailed(
  place: Place,
  batch: readonly Pending[],
  error: unknown,
  { at, remembered, sealing, again }: Progress & { readonly again: boolean },
): Promise<void> {
  const away = isStoreFailure(error)
  if (away || error instanceof Duplicate || sealing) forgetAll(place, batch)
  if (away) for (const pending of batch) pending.reject(error)
  // Perhaps another process has written to a chain since: now it is read.
  else if (error instanceof Duplicate && remembered) await settle(place, batch, again)
  else await settleApart(place, batch, error, { at: at ?? batch.length >> 1, again })
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
    return void (await settle(place, batch.slice(at)))
  }
  // Another process took the key a moment ago: now the change sees it, and can say itself what that means.
  if (error instanceof Duplicate && again) return void (await settle(place, batch, false))
  batch[0]?.reject(error instanceof Duplicate ? conflict() : error)
  await settle(place, batch.slice(1))
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
  // The database asks for it once more: what was sealed the first time is not there.
  if (progress.sealing) forgetAll(place, batch)
  const changed = batch.every(isSingle) ? undefined : yield* makeChanges(batch, progress)
  progress.sealing = true
  const recalled = recallChains(batch, place.known)
  if (recalled.unread.length > 0) yield* readChains(recalled)
  const { chains } = recalled
  for (const chain of chains.values()) progress.remembered ||= chain.remembered
  const { events, rows } = sealAll(batch, chains, progress)
  const singles = changed === undefined ? singlesOf(batch) : []
  const answers = yield* insertAll(place, chains, rows, singles)
  const values = changed ?? valuesOf(batch, singles, answers, progress)
  return { committed: events.map((sealed, index) => ({ value: values[index], events: sealed })), chains }
}

/** Whether a commit changes nothing, or by one statement, which then travels with the events. */
const isSingle = ({ commit: { change } }: Pending): boolean => change === undefined || change.single !== undefined

function* makeChanges(batch: readonly Pending[], progress: Progress): Work<readonly unknown[]> {
  const values: unknown[] = []
  for (const { tenant, commit } of batch) {
    progress.at = values.length
    values.push(commit.change && (yield* commit.change(tenant)))
  }
  progress.at = undefined
  return values
}

function sealAll(batch: readonly Pending[], chains: ReadonlyMap<TenantId, Chain>, progress: Progress): Sealed {
  const events: (readonly SealedEvent[])[] = []
  const rows: (readonly Value[])[] = []
  for (const { tenant, commit, drafts } of batch) {
    progress.at = events.length
    const chain = chains.get(tenant)
    const sealed = 'seal' in commit && chain !== undefined ? sealInto(chain, drafts, commit.seal) : []
    for (const event of sealed) rows.push(eventRow(tenant, event))
    events.push(sealed)
  }
  progress.at = undefined
  return { events, rows }
}

interface Sealed {
  readonly events: readonly (readonly SealedEvent[])[]
  readonly rows: readonly (readonly Value[])[]
}

interface SingleStep {
  readonly at: number
  readonly statement: Statement
}

function singlesOf(batch: readonly Pending[]): readonly SingleStep[] {
  const found: SingleStep[] = []
  for (let at = 0; at < batch.length; at++) {
    const { tenant, commit } = batch[at] as Pending
    if (commit.change?.single !== undefined) found.push({ at, statement: commit.change.single.statement(tenant) })
  }
  return found
}

/** Whose own answer it is that fails is known again: what it says is theirs alone. */
function valuesOf(
  batch: readonly Pending[],
  singles: readonly SingleStep[],
  answers: readonly (readonly Row[])[],
  progress: Progress,
): readonly unknown[] {
  const values: unknown[] = []
  for (let index = 0; index < singles.length; index++) {
    const { at } = singles[index] as SingleStep
    progress.at = at
    values[at] = batch[at]?.commit.change?.single?.read(answers[index] ?? [])
  }
  progress.at = undefined
  return values
}

/** Writes changes and events, and makes sure that the events continue what is there. Answers what the changes say. */
function* insertAll(
  { database }: Place,
  chains: ReadonlyMap<TenantId, Chain>,
  rows: Sealed['rows'],
  singles: readonly SingleStep[],
): Work<readonly (readonly Row[])[]> {
  const statements = singles.map(({ statement }) => statement)
  if (rows.length > 0) statements.push({ into: eventsTable, rows })
  for (const [tenant, chain] of chains) addBesides(statements, tenant, chain)
  // Where nobody can tell whether others have written, their events are asked for on the same way.
  const asked = database.version === undefined ? unsureOf(chains, undefined) : []
  const answers = yield [...statements, ...asked.map(askEnd)]
  checkEnds(asked, answers.slice(statements.length))
  if (rows.length > 0 && database.version !== undefined) {
    const version = database.version()
    const unsure = unsureOf(chains, version)
    if (unsure.length > 0) checkEnds(unsure, yield unsure.map(askEnd))
    for (const chain of chains.values()) chain.seen = version
  }
  return answers
}

/** What was built on is not the end any more: as with a number that is taken, the chain has to be read. */
function checkEnds(unsure: readonly Unsure[], answers: readonly (readonly Row[])[]): void {
  if (!unsure.every((each, index) => isEnd(each, answers[index]))) throw new Duplicate()
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

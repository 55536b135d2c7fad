import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { type BatchCommit, commitBatch, type Done, forgetAll, type Place, type Progress } from './batch.ts'
import { knownChains } from './chain.ts'
import { type Database, Duplicate } from './database.ts'
import type { Commit, Committed } from './store.ts'

interface Pending extends BatchCommit {
  readonly resolve: (committed: Committed<unknown>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Commits that wait at the same time share one transaction, and so one wait for the disk. When one of a batch fails the
 * batch is undone, and those before and after it are tried again without it: a failure stays with its caller and costs the
 * others a few transactions, not one each.
 */
export function groupCommit(database: Database) {
  const lanes = new Map<string, ReturnType<typeof openLane>>()
  const place: Place = { database, known: knownChains() }
  const laneOf = (name: string) => {
    const known = lanes.get(name)
    if (known !== undefined) return known
    const lane = openLane(place, () => {
      if (lanes.size > lanesMax) lanes.delete(name)
    })
    lanes.set(name, lane)
    return lane
  }
  return {
    commit: <T>(tenant: TenantId, commit: Partial<Commit<T>>): Promise<Committed<T>> =>
      new Promise((resolve, reject) => {
        const { events: drafts = [], opens } = commit
        if (drafts.length > limits.eventsPerCommitMax) return void reject(tooMany())
        laneOf(database.lane(tenant)).add({ tenant, commit, drafts, opens, resolve, reject } as Pending)
      }),
    /** Resolves when nothing waits. */
    idle: () => Promise.all([...lanes.values()].map((lane) => lane.idle())),
  }
}

const lanesMax = 1024
const atOnce = Promise.resolve()

/** Takes what waits in a lane, one batch after the other. */
function openLane(place: Place, ended: () => void) {
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
    // Those whom an answer wakes may join the next batch.
    void (settle(place, batch) ?? atOnce).then(turn)
  }
  return {
    add: (pending: Pending): void => {
      waiting.push(pending)
      if (busy) return
      busy = true
      turn()
    },
    idle: () => new Promise<void>((resolve) => (busy ? whenIdle.push(resolve) : resolve())),
  }
}

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

function settle(place: Place, batch: readonly Pending[], again = true): Promise<void> | undefined {
  if (batch.length === 0) return undefined
  const progress: Progress = { remembered: false, sealing: false }
  for (const { tenant, commit } of batch) if (commit.change?.forgets) place.known.forget(tenant)
  const failed = (error: unknown) => settleFailed(place, batch, error, { ...progress, again })
  let done: Done | Promise<Done>
  try {
    done = place.database.write(() => commitBatch(batch, progress, place), queueOf(place, batch))
  } catch (error) {
    return failed(error)
  }
  return done instanceof Promise
    ? done.then((value) => settled(place, batch, value), failed)
    : settled(place, batch, done)
}

function settled({ known }: Place, batch: readonly Pending[], { chains, committed }: Done): undefined {
  for (const [tenant, chain] of chains) known.keep(tenant, chain)
  for (let index = 0; index < batch.length; index++) batch[index]?.resolve(committed[index] as Committed<unknown>)
}

async function settleFailed(
  place: Place,
  batch: readonly Pending[],
  error: unknown,
  made: Progress & { again: boolean },
) {
  // If it is unknown which commit failed, the batch is halved.
  const { at = batch.length >> 1, remembered, sealing, again } = made
  const isTaken = error instanceof Duplicate
  const isAway = error instanceof Failure && error.code.startsWith('store.')
  if (isAway || isTaken || sealing) forgetAll(place, batch)
  if (isAway) for (const pending of batch) pending.reject(error)
  // Perhaps another process has written to a chain since: now it is read.
  else if (isTaken && remembered) await settle(place, batch, again)
  else if (at > 0) {
    // What came before is settled first: this one may have failed because of something that will not be kept.
    await settle(place, batch.slice(0, at))
    await settle(place, batch.slice(at))
  } else if (isTaken && again) {
    // Another process took the key a moment ago: now the change sees it, and can say itself what that means.
    await settle(place, batch, false)
  } else {
    batch[0]?.reject(isTaken ? new Failure('event.conflict', 'a record with this id exists already') : error)
    await settle(place, batch.slice(1))
  }
}

/** Writers of a chain take turns, and batches too: they lock rows of many callers in any order. */
const queueOf = ({ database }: Place, batch: readonly Pending[]): string | undefined =>
  batch.length > 1 || batch.some(({ drafts }) => drafts.length > 0) ? database.lane(batch[0]?.tenant ?? '') : undefined

const tooMany = (): Failure =>
  new Failure('field.invalid', `\`events\`: at most ${limits.eventsPerCommitMax} are committed together`, {
    pointer: '/events',
  })

const aloneMax = 16

/**
 * Decides whether the next commit of a lane waits one turn of the event loop for company. That pays where others are about to
 * come, and costs elsewhere. A lane whose commits waited in vain lets more of them go at once, but never all: a turn
 * of the event loop must come round for everything else in the process.
 */
function makePace() {
  // How many may go at once within one turn: none where they come in company, more the longer they come alone.
  let allowed = 1
  let gone = 0
  const nextTurn = (): void => {
    gone = 0
  }
  return {
    /** True if what waits may go at once. */
    mayGo: (): boolean => {
      if (gone >= allowed) return false
      if (gone === 0) setImmediate(nextTurn)
      gone++
      return true
    },
    /** To be told how many commits went together, and whether they had waited. */
    took: (commits: number, waited: boolean): void => {
      if (commits > 1) allowed = 0
      else if (waited) allowed = Math.min(aloneMax, Math.max(1, allowed * 2))
    },
  }
}

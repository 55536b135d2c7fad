import { Failure } from '../base/failure.ts'
import type { EventDraft, Seal, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/tenant-id.ts'
import { groupCommit } from './commit.ts'
import type { Database } from './database.ts'
import { migrate } from './schema.ts'
import type { Change, Work } from './work.ts'

/** State and the evidence of it, to be kept together or not at all. */
export interface Commit<T> {
  readonly change?: Change<T>
  readonly events: readonly EventDraft[]
  /** Called inside the commit, with the position the chain then has; perhaps more than once. Must be pure. */
  readonly seal: Seal
  /** A correlation whose id was made for these events: nothing is on record of it, and nothing is looked up. */
  readonly opens?: string | undefined
}

export interface Committed<T> {
  readonly value: T
  readonly events: readonly SealedEvent[]
}

/** What the runtime needs of a store. Every call names its tenant; nothing reaches another tenant's rows. */
export interface Store {
  /** Runs reading work against one unchanging snapshot. The functions that make such work take the tenant first. */
  read<T>(work: () => Work<T>): Promise<T>

  /**
   * Changes state without evidence, durable when the promise resolves. A `Failure` thrown by the change rejects
   * this call alone, leaves nothing of it behind, and does not touch the calls it was committed with.
   */
  write<T>(tenant: TenantId, change: Change<T>): Promise<T>

  /**
   * As `write`, with evidence in the same transaction: both are durable or neither is. Events get the tenant's next
   * sequence numbers, without gaps and in the order of commits, and link to the last event of their correlation.
   * A used event id rejects with `event.conflict`.
   */
  commit<T>(tenant: TenantId, commit: Commit<T>): Promise<Committed<T>>

  /** Waits for what is under way, then lets go of the database. From then on every call is `store.unavailable`. */
  close(): Promise<void>
}

/** Opens a store on a database, bringing its tables up to date first. */
export async function openStore(database: Database): Promise<Store> {
  await migrate(database)
  const enqueue = groupCommit(database)
  let underWay = 0
  let whenIdle: (() => void) | undefined
  let closing: Promise<void> | undefined

  const track = <T>(begin: () => Promise<T>): Promise<T> => {
    if (closing !== undefined)
      return Promise.reject(new Failure('store.unavailable', 'the store is closed', { outcome: 'none' }))
    const running = begin()
    underWay++
    running.then(done, done)
    return running
  }
  const done = (): void => {
    underWay--
    if (underWay === 0) whenIdle?.()
  }
  const idle = (): Promise<void> =>
    new Promise((resolve) => {
      whenIdle = resolve
      if (underWay === 0) resolve()
    })
  return {
    read: (work) => track(() => database.read(work)),
    write: async (tenant, change) => (await track(() => enqueue(tenant, { change }))).value,
    commit: (tenant, commit) => track(() => enqueue(tenant, commit)),
    close: () => {
      closing ??= idle().then(() => database.close())
      return closing
    },
  }
}

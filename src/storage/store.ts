import { Failure } from '../base/failure.ts'
import type { EventDraft, Seal, SealedEvent } from '../model/evidence.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import { groupCommit } from './commit.ts'
import type { Database } from './database.ts'
import { migrate } from './schema.ts'
import type { Change, Work } from './work.ts'

/** State and the evidence of it, to be kept together or not at all. */
export interface Commit<T> {
  readonly change?: Change<T>
  readonly events: readonly EventDraft[]
  /** Called with the position that the chain has in the commit; perhaps more than once, with another. Must be pure. */
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
  const queue = groupCommit(database)
  const reading = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  const closed = () => Promise.reject(new Failure('store.unavailable', 'the store is closed', { outcome: 'none' }))
  return {
    read: async (work) => {
      if (closing !== undefined) return closed()
      const found = database.read(work)
      if (!(found instanceof Promise)) return found
      reading.add(found)
      try {
        return await found
      } finally {
        reading.delete(found)
      }
    },
    write: async (tenant, change) =>
      (await (closing === undefined ? queue.commit(tenant, { change }) : closed())).value,
    commit: (tenant, commit) => (closing === undefined ? queue.commit(tenant, commit) : closed()),
    close: () => {
      closing ??= Promise.allSettled([queue.idle(), ...reading]).then(() => database.close())
      return closing
    },
  }
}

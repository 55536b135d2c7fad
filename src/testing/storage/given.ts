import type { SealedEvent } from '../../model/evidence.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import type { Cursor, Page } from '../../storage/page.ts'
import type { Store } from '../../storage/store.ts'
import { findEvents } from '../../storage/tables/events.ts'
import type { Work } from '../../storage/work.ts'

/** What each rule of the contract is tried on. */
export interface Given {
  readonly store: Store
  readonly tenant: TenantId
  /** A second tenant, empty too. */
  readonly other: TenantId
  /** The same data opened once more; the same store where that cannot be. */
  readonly second: Store
  readonly reopen: (() => Promise<Store>) | undefined
}

export type Register = (title: string, body: () => Promise<void>) => void
export type Setting = (rule: (given: Given) => Promise<void>) => () => Promise<void>

/** All items of a list, page by page. */
export async function allPages<T>(
  store: Store,
  list: (options: { limit: number; cursor?: Cursor }) => Work<Page<T>>,
  { limit = 1000, between = async () => {} }: { limit?: number; between?: () => Promise<unknown> } = {},
): Promise<T[]> {
  const items: T[] = []
  for (let cursor: Cursor | undefined; ; ) {
    const options = { limit, ...(cursor !== undefined && { cursor }) }
    const [found] = await Promise.all([store.read(() => list(options)), between()])
    items.push(...found.items)
    cursor = found.next
    if (cursor === undefined) return items
  }
}

/** All events of a tenant, oldest first. */
export const allEvents = async (store: Store, tenant: TenantId): Promise<SealedEvent[]> =>
  (await allPages(store, (options) => findEvents(tenant, {}, options))).reverse()

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** Both openings write at the same time, each one thing after another, so that nothing is committed together. */
export const sideBySide = ({ store, second }: Given, turns: number, write: (to: Store) => Promise<unknown>) =>
  Promise.all(
    [store, second].map(async (to) => {
      for (let turn = 0; turn < turns; turn++) await write(to)
    }),
  )

/** The codes of what was refused; a promise that was kept counts as `kept`. */
export const codes = async (promises: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(promises)).map((result) =>
    result.status === 'fulfilled' ? 'kept' : ((result.reason as { code?: unknown }).code ?? result.reason),
  )

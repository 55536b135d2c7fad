// A store that several processes of a test share.

import { type TenantId, tenantId } from '../../src/model/identity/tenant-id.ts'
import type { Database } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/drivers/postgres.ts'
import { openSqlite } from '../../src/storage/drivers/sqlite.ts'
import type { Cursor, Page } from '../../src/storage/page.ts'
import { type Commit, openStore, type Store } from '../../src/storage/store.ts'
import { runningClaims, takeClaim } from '../../src/storage/tables/claims.ts'
import { eventsFrom } from '../../src/storage/tables/events.ts'
import { principalRecords } from '../../src/storage/tables/identities.ts'
import { inOrder, rows, type Work } from '../../src/storage/work.ts'
import {
  addWithin,
  chainFlaws,
  countOf,
  makeTenant,
  plainSeal,
  sampleClaim,
  sampleDraft,
  samplePrincipal,
} from '../../src/testing/storage/sample.ts'
import type { Postgres } from '../support/postgres.ts'

export type Target =
  | { readonly driver: 'sqlite'; readonly path: string; readonly durability?: 'full' | 'normal' }
  | { readonly driver: 'postgres'; readonly url: string }

export const openTarget = (target: Target): Database =>
  target.driver === 'sqlite' ? openSqlite(target) : openPostgres({ url: target.url, connections: 8 })

/** Opens the store for one act. */
export async function withStore<T>(target: Target, act: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(openTarget(target))
  try {
    return await act(store)
  } finally {
    await store.close()
  }
}

let schemas = 0

/** The URL of an empty schema: as good as a database of its own, and sooner made and recovered. */
export async function emptySchema(server: Postgres | undefined): Promise<string> {
  const url = new URL(server?.url ?? '')
  const name = `schema_${schemas++}`
  const database = openPostgres({ url: url.href })
  await database.write(() => rows(`CREATE SCHEMA ${name}`))
  await database.close()
  url.searchParams.set('options', `-c search_path=${name}`)
  return url.href
}

export const tenant = tenantId('acme')

export const prepare = (store: Store): Promise<TenantId> => makeTenant(store, tenant)

/** A commit that writes state in several steps and two events: all of it is there afterwards, or none. */
export const pairOf = (id: string): Commit<unknown> => ({
  change: inOrder(
    principalRecords.add(samplePrincipal(id, 'begun')),
    takeClaim(sampleClaim(id), 0),
    addWithin({ scope: 's', key: 'pairs', amount: 1, max: 1_000_000 }),
    principalRecords.amend(id, (record) => ({ ...record, display: 'done' })),
  ),
  events: [sampleDraft(id), sampleDraft(`${id}/2`, { correlation: { correlation_id: id.slice(0, 1) } })],
  seal: plainSeal,
})

export interface Kept {
  /** The ids of the pairs that are there. */
  readonly ids: ReadonlySet<string>
  /** Pairs of which only a part is there, and what is wrong with the chain. */
  readonly flaws: readonly string[]
}

/** Looks at all that `pairOf` wrote, in one snapshot. */
export const inspect = (store: Store, of = tenant): Promise<Kept> =>
  store.read(function* () {
    const events = yield* eventsFrom(of, 0, 1_000_000)
    const records = yield* drained((options) => principalRecords.list(of, options))
    const ids = records.map((record) => record.principal_id)
    const expected = ids.flatMap((id) => [id, `${id}/2`])
    const found = events.map((event) => event.eventId)
    const claimed = (yield* drained((options) => runningClaims(of, 's', options))).map(({ key }) => key)
    const counted = yield* countOf(of, 's', 'pairs')
    const halves = records.filter((record) => record.display !== 'done').map((record) => record.principal_id)
    return {
      ids: new Set(ids),
      flaws: [
        ...chainFlaws(events),
        ...[...onlyInOne(expected, found), ...onlyInOne(ids, claimed), ...halves].map((id) => `${id} is there by half`),
        ...(counted === ids.length ? [] : [`${counted} were counted, ${ids.length} are there`]),
      ],
    }
  })

function* drained<T>(list: (options: { limit: number; cursor?: Cursor }) => Work<Page<T>>): Work<T[]> {
  const items: T[] = []
  for (let cursor: Cursor | undefined; ; ) {
    const found = yield* list({ limit: 1000, ...(cursor !== undefined && { cursor }) })
    items.push(...found.items)
    cursor = found.next
    if (cursor === undefined) return items
  }
}

function onlyInOne(left: readonly string[], right: readonly string[]): string[] {
  const [inLeft, inRight] = [new Set(left), new Set(right)]
  return [...left.filter((id) => !inRight.has(id)), ...right.filter((id) => !inLeft.has(id))]
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { emptySchema } from '../../test/storage/target.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { type FreshStore, storageContract } from '../testing/index.ts'
import type { Database } from './database.ts'
import { openPostgres } from './drivers/postgres.ts'
import { openSqlite } from './drivers/sqlite.ts'
import { openStore, type Store } from './store.ts'

const server = await startPostgres({ fsync: false })
afterAll(() => server?.stop())

describe('the contract on a SQLite file [F-12]', () => {
  storageContract({
    test,
    open: () => {
      const folder = mkdtempSync(join(tmpdir(), 'ambit-store-'))
      const database = () => openSqlite({ path: join(folder, 'store.db') })
      return fresh(database, () => rmSync(folder, { recursive: true }))
    },
  })
})

describe('the contract on SQLite in memory [F-12]', () => {
  storageContract({
    test,
    open: async () => {
      const store = await openStore(openSqlite({ path: ':memory:' }))
      return { store, close: () => store.close() }
    },
  })
})

describe.skipIf(server === undefined)('the contract on PostgreSQL [F-12]', () => {
  storageContract({
    test,
    open: async () => {
      const url = await emptySchema(server)
      return fresh(() => openPostgres({ url }))
    },
  })
})

async function fresh(database: () => Database, remove = () => {}): Promise<FreshStore> {
  const opened: Store[] = []
  const reopen = async (): Promise<Store> => {
    const store = await openStore(database())
    opened.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of opened) await store.close()
    remove()
  }
  return { store: await reopen(), reopen, close }
}

// What tests of providers start from.

import { openSqlite } from '../../src/storage/drivers/sqlite.ts'
import { openStore } from '../../src/storage/store.ts'
import type { FreshStore } from '../../src/testing/index.ts'

export async function storeInMemory(): Promise<FreshStore> {
  const store = await openStore(openSqlite({ path: ':memory:' }))
  return { store, close: () => store.close() }
}

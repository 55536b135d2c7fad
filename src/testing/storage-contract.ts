import type { Store } from '../storage/store.ts'
import { approvalRules } from './storage/approvals.ts'
import { budgetRules } from './storage/budgets.ts'
import { claimRules } from './storage/claims.ts'
import { commitRules } from './storage/commits.ts'
import { contentRules } from './storage/contents.ts'
import { counterRules, historyRules, leaseRules } from './storage/coordination.ts'
import { entryRules } from './storage/entries.ts'
import { eventRules } from './storage/events.ts'
import type { Setting } from './storage/given.ts'
import { legRules } from './storage/legs.ts'
import { lifeRules } from './storage/life.ts'
import { recordRules } from './storage/records.ts'
import { runRules } from './storage/runs.ts'
import { makeTenant } from './storage/sample.ts'
import { tenantRules } from './storage/tenants.ts'

/** A store for one test, with nothing in it yet. */
export interface FreshStore {
  readonly store: Store
  /** Opens the same data once more, as another process would; left out where a store ends with the process. */
  reopen?(): Promise<Store>
  /** Closes whatever is still open, and removes the data. */
  close(): Promise<void>
}

export interface StorageSuite {
  /** How the test runner in use registers a test. */
  readonly test: (title: string, body: () => Promise<void>) => void
  /** Called once per test. */
  readonly open: () => Promise<FreshStore>
}

/** Everything a store must do, whatever database is behind it. A driver is good when all of these tests pass. */
export function storageContract({ test, open }: StorageSuite): void {
  const on: Setting = (rule) => async () => {
    const fresh = await open()
    try {
      const { store } = fresh
      const [tenant, other] = [await makeTenant(store, 'acme'), await makeTenant(store, 'other')]
      const reopen = fresh.reopen?.bind(fresh)
      await rule({ store, tenant, other, reopen, second: (await reopen?.()) ?? store })
    } finally {
      await fresh.close()
    }
  }
  for (const rules of [
    tenantRules,
    recordRules,
    runRules,
    legRules,
    commitRules,
    eventRules,
    claimRules,
    leaseRules,
    counterRules,
    historyRules,
    budgetRules,
    approvalRules,
    contentRules,
    entryRules,
    lifeRules,
  ]) {
    rules(test, on)
  }
}

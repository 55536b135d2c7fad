import { dropEndedBudgets } from '../storage/budget-uses.ts'
import { dropExpiredClaims } from '../storage/claims.ts'
import { dropExpiredHistories } from '../storage/histories.ts'
import type { GatewayDeps } from './deps.ts'

const rowsPerStep = 500
// In all as many as the busiest store can have added since the last time.
const stepsMax = 100

/** Takes away what is kept no longer, in steps between which others have their turn. */
export async function forgetExpired({ store, tenant, clock }: GatewayDeps): Promise<void> {
  const now = clock.now()
  for (const drop of [dropExpiredClaims, dropExpiredHistories, dropEndedBudgets])
    for (let step = 0; step < stepsMax; step++)
      if ((await store.write(tenant, drop(now, rowsPerStep))) < rowsPerStep) break
}

import { dropEndedBudgets } from '../../storage/tables/budget-uses.ts'
import { dropExpiredClaims } from '../../storage/tables/claims.ts'
import { dropExpiredHistories } from '../../storage/tables/histories.ts'
import type { GatewayDeps } from '../deps.ts'
import { inSteps, type Steps } from './steps.ts'

const rowsPerStep = 100

/** Takes away what is kept no longer. */
export async function forgetExpired({ store, tenant, clock }: GatewayDeps, steps: Steps): Promise<void> {
  const now = clock.now()
  for (const drop of [dropExpiredClaims, dropExpiredHistories, dropEndedBudgets])
    await inSteps(steps, async () => (await store.write(tenant, drop(now, rowsPerStep))) === rowsPerStep)
}

import { setImmediate as nextTurn } from 'node:timers/promises'
import { dropEndedBudgets } from '../../storage/tables/budget-uses.ts'
import { dropExpiredClaims } from '../../storage/tables/claims.ts'
import { dropExpiredHistories } from '../../storage/tables/histories.ts'
import type { GatewayDeps } from '../deps.ts'

/** How much is done at a time of what may be much. */
export interface Steps {
  readonly max: number
  /** Aborts when the caller no longer needs the rest. */
  readonly signal: AbortSignal
}

/** Takes steps as long as one says that there is more to do. Between any two of them all others have their turn. */
export async function inSteps({ max, signal }: Steps, step: () => Promise<boolean>): Promise<void> {
  for (let taken = 0; taken < max && !signal.aborted; taken++) {
    if (!(await step())) return
    await nextTurn()
  }
}

const rowsPerStep = 100

export async function forgetExpired({ store, tenant, clock }: GatewayDeps, steps: Steps): Promise<void> {
  const now = clock.now()
  for (const drop of [dropExpiredClaims, dropExpiredHistories, dropEndedBudgets])
    await inSteps(steps, async () => (await store.write(tenant, drop(now, rowsPerStep))) === rowsPerStep)
}

import type { EventDraft } from '../model/evidence.ts'
import type { Change } from '../storage/work.ts'
import type { GatewayDeps } from './deps.ts'

/**
 * Writes a change and its evidence in one transaction, and tells whoever signs heads. `opens` is the correlation of the
 * events if its id was made for them.
 */
export async function writeEvents(
  { store, tenant, seal, wrote }: GatewayDeps,
  events: readonly EventDraft[],
  change?: Change,
  opens?: string,
): Promise<void> {
  const { events: written } = await store.commit(
    tenant,
    change ? { change, events, seal, opens } : { events, seal, opens },
  )
  wrote(written)
}

import type { EventDraft } from '../model/evidence.ts'
import { type Change, inOrder } from '../storage/work.ts'
import type { GatewayDeps } from './deps.ts'

/** What the decision rests on has changed since it was made: it is to be made again. */
export class FactsChanged extends Error {}

/**
 * Writes changes and their evidence in one transaction, and tells whoever signs heads. `opens` is the correlation of the
 * events if its id was made for them.
 */
export async function writeEvents(
  { store, tenant, seal, wrote }: GatewayDeps,
  events: readonly EventDraft[],
  changes: readonly Change[],
  opens?: string,
): Promise<void> {
  const { events: written } = await store.commit(
    tenant,
    changes.length > 0 ? { change: inOrder(...changes), events, seal, opens } : { events, seal, opens },
  )
  wrote(written)
}

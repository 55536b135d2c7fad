import { makeSeal } from '../evidence/seal.ts'
import type { EventDraft } from '../model/evidence.ts'
import type { Change } from '../storage/work.ts'
import type { GatewayDeps } from './deps.ts'

/** Writes a change and its evidence in one transaction, and tells whoever signs heads. */
export async function writeEvents(deps: GatewayDeps, events: readonly EventDraft[], change?: Change): Promise<void> {
  const seal = makeSeal({ hostId: deps.hostId, tenant: deps.tenant })
  const { events: written } = await deps.store.commit(deps.tenant, { ...(change && { change }), events, seal })
  deps.wrote(written)
}

import { recent } from '../base/recent.ts'
import type { TenantId } from '../model/identity/tenant-id.ts'
import type { Chain } from './chain.ts'

/** Where chains stand as far as this process knows, so that it need not read what it has just written. */
export interface KnownChains {
  /** The chain for the next batch, with the tails that are known, or undefined when the store has to be asked. */
  recall(tenant: TenantId): Chain | undefined
  /** To be told where a chain stands after a commit. */
  keep(tenant: TenantId, chain: Chain): void
  /** To be told when a commit failed that may have changed the chain, or whose failure may mean that others have. */
  forget(tenant: TenantId): void
}

interface Entry {
  readonly chain: Chain
  /** Others who write to the chain make what is remembered wrong each time; it is used when nobody did for a while. */
  readonly alone: boolean
}

const tenantsMin = 256
const tailsMax = 2048

export function knownChains(): KnownChains {
  const entries = recent<TenantId, Entry>(tenantsMin)
  return {
    recall: (tenant) => {
      const entry = entries.get(tenant)
      return entry?.alone ? begun(entry.chain) : undefined
    },
    keep: (tenant, chain) => {
      // Any that is dropped is read again when it is needed.
      if (chain.tails.size > tailsMax) chain.tails.clear()
      const before = entries.get(tenant)
      if (before?.chain === chain) return
      entries.set(tenant, { chain, alone: before?.chain.sequence === chain.from.sequence })
    },
    forget: (tenant) => entries.delete(tenant),
  }
}

function begun(chain: Chain): Chain {
  const { sequence, hash, lagMs } = chain
  chain.from = { sequence, hash, lagMs }
  chain.behind = false
  chain.remembered = true
  if (chain.sections.rows.length > 0) chain.sections.rows = []
  return chain
}

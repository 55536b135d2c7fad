import type { TenantId } from '../model/tenant-id.ts'
import type { Chain } from './chain.ts'
import type { Database } from './database.ts'

/** Where chains stand as far as this process knows, so that it need not read what it has just written. */
export interface KnownChains {
  /**
   * Whether the database may have lost what it acknowledged while this process went on: a server that fails over does,
   * a file that this process has open does not. Then what is remembered is held against the store.
   */
  readonly mayBeAhead: boolean
  /** A copy to seal into, or undefined when the store has to be asked. It has the tails that are known of those wanted. */
  recall(tenant: TenantId, correlations: ReadonlySet<string>): Chain | undefined
  /** To be told where a chain stands after a commit. */
  keep(tenant: TenantId, chain: Chain): void
  /** To be told when a commit failed in a way that may mean that others have written. */
  forget(tenant: TenantId): void
}

interface Entry {
  readonly sequence: number
  readonly hash: string
  readonly latest: string
  readonly lagMs: number
  readonly tails: Map<string, string>
  /** Others who write to the chain make what is remembered wrong each time; it is used when nobody did for a while. */
  readonly alone: boolean
}

const tenantsMax = 256
const tailsMax = 1024

export function knownChains(dialect: Database['dialect']): KnownChains {
  const entries = new Map<TenantId, Entry>()
  return {
    mayBeAhead: dialect !== 'sqlite',
    recall: (tenant, correlations) => {
      const entry = entries.get(tenant)
      if (entry === undefined || !entry.alone) return undefined
      const { sequence, hash, latest, lagMs } = entry
      const from = { sequence, hash, lagMs }
      return { sequence, hash, latest, lagMs, tails: some(entry.tails, correlations), from, remembered: true }
    },
    keep: (tenant, { sequence, hash, latest, lagMs, tails, from }) => {
      const before = entries.get(tenant)
      const alone = before !== undefined && before.sequence === from.sequence
      const known = alone ? before.tails : new Map<string, string>()
      for (const [correlation, tail] of tails) setNewest(known, correlation, tail, tailsMax)
      setNewest(entries, tenant, { sequence, hash, latest, lagMs, tails: known, alone }, tenantsMax)
    },
    forget: (tenant) => void entries.delete(tenant),
  }
}

function some(tails: ReadonlyMap<string, string>, correlations: ReadonlySet<string>): Map<string, string> {
  const found = new Map<string, string>()
  for (const correlation of correlations) {
    const tail = tails.get(correlation)
    if (tail !== undefined) found.set(correlation, tail)
  }
  return found
}

/** Maps keep the order of insertion: the first is the one that was not used for the longest time. */
function setNewest<K, V>(map: Map<K, V>, key: K, value: V, sizeMax: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= sizeMax) return
  for (const oldest of map.keys()) return void map.delete(oldest)
}

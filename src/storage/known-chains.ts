import type { TenantId } from '../model/tenant-id.ts'
import type { Chain } from './chain.ts'
import { type Recent, recent } from './recent.ts'
import { noSections, type StoredSections, sectionsAfter } from './sections.ts'

/** Where chains stand as far as this process knows, so that it need not read what it has just written. */
export interface KnownChains {
  /** A copy to seal into, or undefined when the store has to be asked. It has the tails that are known of those wanted. */
  recall(tenant: TenantId, correlations: ReadonlySet<string>): Chain | undefined
  /** To be told where a chain stands after a commit. */
  keep(tenant: TenantId, chain: Chain): void
  /** To be told when a commit failed in a way that may mean that others have written. */
  forget(tenant: TenantId): void
}

interface Entry extends Pick<Chain, 'sequence' | 'hash' | 'latest' | 'lagMs' | 'seen'>, Remembered {
  /** Others who write to the chain make what is remembered wrong each time; it is used when nobody did for a while. */
  readonly alone: boolean
}

interface Remembered {
  readonly tails: Recent<string, string>
  readonly sections: StoredSections
}

const tenantsMin = 256
const tailsMin = 1024

export function knownChains(): KnownChains {
  const entries = recent<TenantId, Entry>(tenantsMin)
  return {
    recall: (tenant, correlations) => {
      const entry = entries.get(tenant)
      if (entry === undefined || !entry.alone) return undefined
      const { sequence, hash, latest, lagMs, seen } = entry
      const from = { sequence, hash, lagMs }
      const tails = some(entry.tails, correlations)
      const sections = sectionsAfter(entry.sections)
      return { sequence, hash, latest, lagMs, behind: false, tails, sections, from, remembered: true, seen }
    },
    keep: (tenant, { sequence, hash, latest, lagMs, seen, tails, sections, from }) => {
      const before = entries.get(tenant)
      const alone = before !== undefined && before.sequence === from.sequence
      const known: Remembered = alone ? before : { tails: recent(tailsMin), sections: noSections() }
      for (const [correlation, tail] of tails) known.tails.set(correlation, tail)
      for (const [field, value, section] of sections.rows) known.sections[field].set(value, section)
      entries.set(tenant, { sequence, hash, latest, lagMs, seen, tails: known.tails, sections: known.sections, alone })
    },
    forget: (tenant) => entries.delete(tenant),
  }
}

function some(tails: Recent<string, string>, correlations: ReadonlySet<string>): Map<string, string> {
  const found = new Map<string, string>()
  for (const correlation of correlations) {
    const tail = tails.get(correlation)
    if (tail !== undefined) found.set(correlation, tail)
  }
  return found
}

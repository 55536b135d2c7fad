import type { Json } from '../base/canonical.ts'
import { capabilityFacts } from '../gateway/rules.ts'
import { type ConfigSource, loadSettings } from './config.ts'
import { offeredBy } from './upstreams.ts'

/** What rules may read of a capability: all of it where the configuration offers it, otherwise its id. */
export async function capabilityIn(source: ConfigSource, id: string): Promise<Readonly<Record<string, Json>>> {
  const { hosting } = await loadSettings(source)
  const found = offeredBy(hosting, () => undefined).findLast(({ descriptor }) => descriptor.id === id)
  return found === undefined ? { id } : (capabilityFacts(found.descriptor) as Record<string, Json>)
}

import type { OpenUpstream } from '../../adapters/adapter.ts'
import type { Capability } from '../../gateway/capability.ts'
import { openUnderWay } from '../../gateway/under-way.ts'

/** An upstream that can be let go of without harm to the calls that it still has. */
export interface Retirable extends OpenUpstream {
  /** Ends it when the calls under way are done, and those that were about to begin have had the time to. */
  retire(): Promise<void>
}

const graceMs = 1_000

export function retirable(upstream: OpenUpstream): Retirable {
  const calls = openUnderWay()
  const counted = (capability: Capability): Capability => ({
    ...capability,
    handler: (input, call) => calls.count(() => capability.handler(input, call)),
  })
  return {
    capabilities: upstream.capabilities.map(counted),
    close: () => upstream.close(),
    retire: async () => {
      await new Promise((resolve) => setTimeout(resolve, graceMs).unref())
      await calls.none()
      await upstream.close()
    },
  }
}

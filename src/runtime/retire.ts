import type { OpenUpstream } from '../gateway/adapters/adapter.ts'
import type { Capability } from '../gateway/capability.ts'

/** An upstream that can be let go of without harm to the calls that it still has. */
export interface Retirable extends OpenUpstream {
  /** Ends it when the calls under way are done, and those that were about to begin have had the time to. */
  retire(): Promise<void>
}

const graceMs = 1_000

export function retirable(upstream: OpenUpstream): Retirable {
  let running = 0
  let idle: (() => void) | undefined
  const counted = (capability: Capability): Capability => ({
    ...capability,
    handler: async (input, call) => {
      running++
      try {
        return await capability.handler(input, call)
      } finally {
        running--
        if (running === 0) idle?.()
      }
    },
  })
  const untilIdle = () =>
    new Promise<void>((resolve) => {
      idle = resolve
      if (running === 0) resolve()
    })
  return {
    capabilities: upstream.capabilities.map(counted),
    close: () => upstream.close(),
    retire: async () => {
      await new Promise((resolve) => setTimeout(resolve, graceMs).unref())
      await untilIdle()
      await upstream.close()
    },
  }
}

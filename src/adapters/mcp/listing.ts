import { limits } from '../../base/limits.ts'
import type { Clock } from '../../base/time.ts'
import type { Connection } from './connection.ts'
import type { ToolDefinition } from './definition.ts'

/** The tools of a server as they were listed last, and again when that may no longer be so. */
export interface Listing {
  /** At once where they are known. */
  tools(): Tools | Promise<Tools>
  /** What was listed may no longer be so: the next who asks waits for a new list, and one is fetched unasked. */
  changed(): void
  stop(): void
}

type Tools = readonly ToolDefinition[]

interface Listed {
  readonly at: number
  tools: Tools | Promise<Tools>
}

/** `take` is told every list. */
export function openListing(connection: Connection, clock: Clock, take: (tools: Tools) => void): Listing {
  let last: Listed | undefined
  let started = 0
  let soon: NodeJS.Timeout | undefined

  const fetched = async () => {
    started += 1
    const mine = started
    const tools = await connection.list()
    // One that was asked for later knows better, whichever comes first.
    if (mine === started) take(tools)
    return tools
  }
  const tools = () => {
    if (last && clock.now() - last.at < limits.mcpListMs) return last.tools
    const fetching = fetched()
    const listing: Listed = { at: clock.now(), tools: fetching }
    last = listing
    fetching.then(
      (found) => {
        listing.tools = found
      },
      () => {
        if (last === listing) last = undefined
      },
    )
    return fetching
  }
  return {
    tools,
    changed: () => {
      last = undefined
      // Not sooner, however often the server says it, and not later either.
      soon ??= setTimeout(() => {
        soon = undefined
        void tools()
      }, limits.mcpListPauseMs).unref()
    },
    stop: () => clearTimeout(soon),
  }
}

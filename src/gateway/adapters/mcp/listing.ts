import { limits } from '../../../base/limits.ts'
import type { Clock } from '../../../base/time.ts'
import type { Connection } from './connection.ts'
import type { ToolDefinition } from './definition.ts'

/** The tools of a server as they were listed last, and again when that may no longer be so. */
export interface Listing {
  tools(): Promise<readonly ToolDefinition[]>
  /** What was listed may no longer be so: the next who asks waits for a new list, and one is fetched unasked. */
  changed(): void
  stop(): void
}

/** `take` is told every list. */
export function openListing(
  connection: Connection,
  clock: Clock,
  take: (tools: readonly ToolDefinition[]) => void,
): Listing {
  let last: { readonly at: number; readonly tools: Promise<readonly ToolDefinition[]> } | undefined
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
    const listing = { at: clock.now(), tools: fetched() }
    last = listing
    listing.tools.catch(() => {
      if (last === listing) last = undefined
    })
    return listing.tools
  }
  return {
    tools,
    changed: () => {
      last = undefined
      // Not sooner, however often the server says it, and not later either.
      soon ??= setTimeout(() => {
        soon = undefined
        tools().catch(() => undefined)
      }, limits.mcpListPauseMs).unref()
    },
    stop: () => clearTimeout(soon),
  }
}

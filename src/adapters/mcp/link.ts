import { quote } from '../../base/failure.ts'
import { objectHash } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { Clock } from '../../base/time.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import type { UpstreamDeps } from '../adapter.ts'
import { type ReadSecret, secretNames, textsOf } from '../secret-text.ts'
import { type Connection, connect } from './connection.ts'
import { type Drift, driftOf, type ToolDefinition } from './definition.ts'
import type { Address } from './http.ts'
import { unavailable } from './outcome.ts'
import { fillServer } from './server.ts'
import type { Program } from './stdio.ts'

/** The one connection to a server, opened on demand and reopened when lost, with the tools of that server. */
interface Link {
  /** The connection for a call, and the tools as they are now. An unavailable server is a `CallEnded` without effect. */
  ready(secret: ReadSecret): Promise<Ready>
  /** True if the definition of this tool is not the one that was accepted. Looks again from time to time. */
  isHeld(tool: string): boolean
  close(): Promise<void>
}

interface Ready {
  readonly connection: Connection
  readonly tools: readonly ToolDefinition[]
}

interface Line {
  /** Changes with every secret that the server is given. */
  readonly fingerprint: string
  readonly opening: Promise<Opened>
}

interface Opened {
  readonly connection: Connection
  readonly listing: Listing
}

export function openLink(upstream: McpUpstream, deps: UpstreamDeps): Link {
  const { name } = upstream
  const tell = presence(name, deps.notice)
  const held = openHeld(upstream, deps.notice)
  let current: Line | undefined
  // The current one, and those before it that still have calls under way.
  const lines = new Set<Line>()
  let lookedAt = deps.clock.now()
  const closing = new AbortController()
  const { signal } = closing

  const open = (server: Address | Program, fingerprint: string): Line => {
    let listing: Listing | undefined
    const retired = () => {
      listing?.stop()
      if (current === line) current = undefined
    }
    const closed = (why: string | undefined) => {
      retired()
      lines.delete(line)
      if (why !== undefined && !signal.aborted) tell.away(why)
    }
    const opening = async () => {
      const listener = { signal, changed: () => listing?.changed(), retired, closed }
      const connection = await connect(name, server, deps.egress, listener)
      listing = openListing(connection, deps.clock, held.take)
      tell.here()
      return { connection, listing }
    }
    const line: Line = { fingerprint, opening: opening() }
    lines.add(line)
    line.opening.catch(() => closed('it cannot be reached'))
    return line
  }

  const lineTo = (server: Address | Program): Line => {
    const fingerprint = objectHash({ ...server, ...('url' in server && { url: server.url.href }) } as never)
    if (current?.fingerprint === fingerprint) return current
    current?.opening.then(({ connection }) => connection.retire(), ignore)
    current = open(server, fingerprint)
    return current
  }

  // Without secrets the address or command never changes.
  const isFixed = secretNames(textsOf(upstream.server)).length === 0
  const lineFor = async (secret: ReadSecret): Promise<Line> => {
    if (isFixed && current && !signal.aborted) return current
    const server = await fillServer(upstream.server, deps.folder, secret)
    if (signal.aborted) throw unavailable(name, 'it is being closed')
    return lineTo(server)
  }

  const ready: Link['ready'] = async (secret) => {
    const { connection, listing } = await (await lineFor(secret)).opening
    try {
      return { connection, tools: await listing.tools() }
    } catch {
      throw unavailable(name, 'it does not list its tools')
    }
  }

  const lookAgain = async () => {
    if (signal.aborted || deps.clock.now() - lookedAt < limits.mcpHeldLookMs) return
    lookedAt = deps.clock.now()
    await current?.opening.then(({ listing }) => listing.changed())
    await ready(async (handle) => (await deps.secret(`secret:${handle}`)).reveal())
  }

  return {
    ready,
    isHeld: (tool) => {
      if (held.tools().size > 0) lookAgain().catch(ignore)
      return held.tools().has(tool)
    },
    close: async () => {
      closing.abort()
      await Promise.all([...lines].map(({ opening }) => opening.then(({ connection }) => connection.close(), ignore)))
    },
  }
}

const ignore = (): void => undefined

/** Says once that a server is away, and once that it is back. */
function presence(name: string, notice: (text: string) => void) {
  let isAway = false
  return {
    away: (why: string) => {
      if (!isAway) notice(`the server \`${name}\` is away: ${why}`)
      isAway = true
    },
    here: () => {
      if (isAway) notice(`the server \`${name}\` is back`)
      isAway = false
    },
  }
}

/** The accepted tools that are not what they were. Says of each once that it is held. */
function openHeld(upstream: McpUpstream, notice: (text: string) => void) {
  let held: ReadonlySet<string> = new Set()
  return {
    tools: () => held,
    take: (found: readonly ToolDefinition[]) => {
      const drift = driftOf(upstream, found)
      const now = new Set([...drift.changed, ...drift.gone])
      for (const tool of now) if (!held.has(tool)) notice(heldNotice(upstream.name, tool, drift))
      held = now
    },
  }
}

const heldNotice = (server: string, tool: string, { gone }: Drift): string =>
  gone.includes(tool)
    ? `the server \`${server}\` has no tool ${quote(tool)} any more: its capability is held`
    : `the tool ${quote(tool)} of the server \`${server}\` has changed since it was accepted: its capability is held`

/** The tools of a server as they were listed last, and again when that may no longer be so. */
interface Listing {
  tools(): Promise<Tools>
  /** The list may be outdated: it is fetched again soon, or by the next call. */
  changed(): void
  stop(): void
}

type Tools = readonly ToolDefinition[]

/** `take` receives every new list. */
function openListing(connection: Connection, clock: Clock, take: (tools: Tools) => void): Listing {
  let last: { readonly at: number; readonly tools: Promise<Tools> } | undefined
  let started = 0
  let soon: NodeJS.Timeout | undefined

  const fetchTools = async () => {
    started += 1
    const mine = started
    const tools = await connection.list()
    // Answers may come out of order: only the latest request counts.
    if (mine === started) take(tools)
    return tools
  }
  const tools = () => {
    if (last && clock.now() - last.at < limits.mcpListMs) return last.tools
    const listing = { at: clock.now(), tools: fetchTools() }
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
        tools().catch(ignore)
      }, limits.mcpListPauseMs).unref()
    },
    stop: () => clearTimeout(soon),
  }
}

import { quote } from '../../base/failure.ts'
import { objectHash } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import type { UpstreamDeps } from '../adapter.ts'
import { type ReadSecret, secretNames, textsOf } from '../secret-text.ts'
import { type Connection, connect, type Tools } from './connection.ts'
import type { Address } from './http.ts'
import { unavailable } from './outcome.ts'
import { fillServer } from './server.ts'
import type { Program } from './stdio.ts'
import { type Drift, driftOf } from './tool-drift.ts'

/** The one connection to a server, opened on demand and reopened when lost. */
export function openLink(upstream: McpUpstream, { secret: readSecret, egress, clock, folder, notice }: UpstreamDeps) {
  const { name } = upstream
  let current: { readonly fingerprint: string; readonly opening: Promise<Connection> } | undefined
  // The current one, and those before it that still have calls under way.
  const connections = new Set<Promise<Connection>>()
  // The accepted tools that are not what they were.
  let held: ReadonlySet<string> = new Set()
  let isAway = false
  let lookedAt = clock.now()
  const closing = new AbortController()
  const { signal } = closing

  const listed = (tools: Tools) => {
    const drift = driftOf(upstream, tools)
    const now = new Set([...drift.changed, ...drift.gone])
    for (const tool of now.difference(held)) notice(heldNotice(name, tool, drift))
    held = now
  }

  const open = (server: Address | Program): Promise<Connection> => {
    const retired = () => {
      if (current?.opening === opening) current = undefined
    }
    const closed = (why: string | undefined) => {
      retired()
      connections.delete(opening)
      if (why === undefined || signal.aborted || isAway) return
      isAway = true
      notice(`the server \`${name}\` is away: ${why}`)
    }
    const opening = connect(name, server, egress, { signal, listed, retired, closed })
    connections.add(opening)
    const opened = () => {
      if (isAway) notice(`the server \`${name}\` is back`)
      isAway = false
    }
    opening.then(opened, () => closed('it cannot be reached'))
    return opening
  }

  // Without secrets the address or command never changes.
  const isFixed = secretNames(textsOf(upstream.server)).length === 0
  const connectionFor = async (secret: ReadSecret): Promise<Connection> => {
    if (isFixed && current && !signal.aborted) return current.opening
    const server = await fillServer(upstream.server, folder, secret)
    if (signal.aborted) throw unavailable(name, 'it is being closed')
    // Changes with every secret that the server is given.
    const fingerprint = objectHash({ ...server, ...('url' in server && { url: server.url.href }) } as never)
    if (current?.fingerprint !== fingerprint) {
      current?.opening.then((old) => old.retire(), ignore)
      current = { fingerprint, opening: open(server) }
    }
    return current.opening
  }

  /** The connection for a call, and its tools as they are now. An unavailable server is a `CallEnded` without effect. */
  const ready = async (secret: ReadSecret) => {
    const connection = await connectionFor(secret)
    const tools = await connection.tools().catch(() => {
      throw unavailable(name, 'it does not list its tools')
    })
    return { connection, tools }
  }

  const lookAgain = async () => {
    if (signal.aborted || clock.now() - lookedAt < limits.mcpHeldLookMs) return
    lookedAt = clock.now()
    await current?.opening.then((connection) => connection.refresh())
    await ready(async (handle) => (await readSecret(`secret:${handle}`)).reveal())
  }

  return {
    ready,
    /** True if the definition of this tool is not the one that was accepted. Looks again from time to time. */
    isHeld: (tool: string): boolean => {
      if (held.size > 0) lookAgain().catch(ignore)
      return held.has(tool)
    },
    close: async (): Promise<void> => {
      closing.abort()
      await Promise.all([...connections].map((opening) => opening.then((connection) => connection.close(), ignore)))
    },
  }
}

const ignore = (): void => undefined

const heldNotice = (server: string, tool: string, { gone }: Drift): string =>
  gone.includes(tool)
    ? `the server \`${server}\` has no tool ${quote(tool)} any more: its capability is held`
    : `the tool ${quote(tool)} of the server \`${server}\` has changed since it was accepted: its capability is held`

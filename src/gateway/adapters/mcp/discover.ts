import { Failure } from '../../../base/failure.ts'
import type { McpUpstream } from '../../../model/upstream.ts'
import { CallEnded } from '../../ended.ts'
import type { UpstreamDeps } from '../adapter.ts'
import { connect } from './connection.ts'
import { said, type ToolDefinition } from './definition.ts'
import { fillServer } from './server.ts'

/** What a server says of itself: all of it is data. */
export interface Discovered {
  readonly server: { readonly name: string; readonly version: string } | undefined
  /** The revision of the protocol that both speak. */
  readonly protocol: string
  readonly tools: readonly ToolDefinition[]
}

/** Connects to a server, reads what it offers, and leaves. Fails with `host.unreachable`. */
export async function discoverTools(
  server: McpUpstream['server'],
  deps: Pick<UpstreamDeps, 'secret' | 'egress' | 'folder'>,
): Promise<Discovered> {
  const filled = await fillServer(server, deps.folder, async (name) => (await deps.secret(`secret:${name}`)).reveal())
  const quiet = { signal: new AbortController().signal, changed: () => undefined, closed: () => undefined }
  try {
    const connection = await connect('server', filled, deps.egress, quiet)
    try {
      const { server: told, protocol } = connection
      const identity = told && { name: said(told.name, 256), version: said(told.version, 256) }
      return { server: identity, protocol, tools: await connection.list() }
    } finally {
      await connection.close()
    }
  } catch (error) {
    const why = error instanceof CallEnded ? error.message : 'the server does not list its tools'
    throw new Failure(
      'host.unreachable',
      why,
      {},
      'check its command or address, and start it by hand to see what it says',
    )
  }
}

import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { scrubText, scrubValue } from '../../evidence/redaction/redact-values.ts'
import { CallEnded } from '../../gateway/ended.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import type { UpstreamDeps } from '../adapter.ts'
import { egressHelp } from '../egress/egress.ts'
import { checkServer } from '../http/check.ts'
import { connect } from './connection.ts'
import { endedIn, statusOf } from './outcome.ts'
import { fillServer } from './server.ts'
import { repeatsSecret, said, type ToolDefinition } from './tool-drift.ts'

/** Connects to a server, reads what it says of itself and offers, all of it data, and leaves. Fails with `host.unreachable`. */
export async function discoverTools(
  { name, server }: Pick<McpUpstream, 'name' | 'server'>,
  deps: Pick<UpstreamDeps, 'secret' | 'egress' | 'folder'>,
) {
  checkServer({ name, server })
  const secrets: string[] = []
  const filled = await fillServer(server, deps.folder, async (handle) => {
    const value = (await deps.secret(`secret:${handle}`)).reveal()
    secrets.push(value)
    return value
  })
  const ignore = () => undefined
  const quiet = { signal: new AbortController().signal, listed: ignore, retired: ignore, closed: ignore }
  try {
    const connection = await connect(name, filled, deps.egress, quiet)
    try {
      const { server: told, protocol } = connection
      const shown = (text: string) => said(scrubText(text, secrets), 256)
      const identity = told && { name: shown(told.name), version: shown(told.version) }
      const tools = (await connection.tools()).map((tool) => withoutSecrets(tool, secrets))
      return { server: identity, protocol, tools }
    } finally {
      await connection.close()
    }
  } catch (error) {
    const why = error instanceof CallEnded ? error.message : `the server \`${name}\` does not list its tools`
    // It holds no secret: those are in headers and in the query.
    const where = 'url' in server ? `${quote(server.url)}: ` : ''
    throw new Failure('host.unreachable', `${where}${why}`, {}, helpFor(server, error))
  }
}

function helpFor(server: McpUpstream['server'], error: unknown): string {
  if (!('url' in server)) return 'check its command and the folder it runs in, and start it by hand to see what it says'
  const cause = error instanceof Error ? error.cause : undefined
  if (endedIn(cause)?.code === 'egress_refused') return egressHelp(server.url)
  const status = statusOf(cause)
  return status === 401 || status === 403
    ? 'send what it knows you by as a header such as `authorization: Bearer {secret:NAME}`, and keep it with `ambit secret set NAME`'
    : 'check its address, and whether it speaks MCP there'
}

/** Reduces a tool that repeats a secret of its server to its name: the rest is neither shown nor stored. */
function withoutSecrets(tool: ToolDefinition, secrets: readonly string[]): ToolDefinition {
  const scrubbed = scrubValue(tool as Json, secrets) as ToolDefinition
  const isClean = JSON.stringify(scrubbed) === JSON.stringify(tool)
  return isClean ? tool : { name: scrubbed.name, [repeatsSecret]: true }
}

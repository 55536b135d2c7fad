import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import type { Json } from '../base/canonical.ts'
import { headerMembers, isHeaderName } from '../model/config/param-headers.ts'
import type { McpDoor } from './door.ts'
import { listedTools, toolNamed } from './tools.ts'

const headerMismatch = -32020

/**
 * The refusal of a call whose headers do not repeat the arguments that its tool wants repeated there (`x-mcp-header`):
 * a proxy that routes by such a header must not see another value than we do. Undefined if all is well, and for tools
 * that this caller cannot see: those answer nothing about themselves.
 */
export function refusedHeaders(
  { host, caller }: Pick<McpDoor, 'host' | 'caller'>,
  headers: Headers,
  body: unknown,
): Response | undefined {
  const { id = null, method, params } = (body ?? {}) as ToolCall
  if (method !== 'tools/call' || params?._meta?.[PROTOCOL_VERSION_META_KEY] === undefined) return undefined
  const tool = toolNamed(host, String(params.name))
  // Clients do not call tools that want something else than a header.
  const wanted = headerMembers(tool?.inputSchema as Json).filter(({ header }) => isHeaderName(header))
  if (wanted.length === 0 || !listedTools({ host, caller }).some(({ name }) => name === tool?.name)) return undefined
  const wrong = wanted.find(({ header, path }) => {
    const value = path.reduce<unknown>((at, name) => (at as Members)?.[name], params.arguments)
    return isPlain(value) && !repeats(headers.get(`mcp-param-${header}`), value)
  })
  if (wrong === undefined) return undefined
  const message = `the header \`Mcp-Param-${wrong.header}\` does not say what the argument \`${wrong.path.join('.')}\` says`
  return Response.json({ jsonrpc: '2.0', id, error: { code: headerMismatch, message } }, { status: 400 })
}

interface ToolCall {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: {
    readonly name?: unknown
    readonly arguments?: unknown
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}
type Members = { readonly [name: string]: Json | undefined } | undefined

const isPlain = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value)

function repeats(header: string | null, value: string | number | boolean): boolean {
  const said = header === null ? undefined : decoded(header)
  if (typeof value === 'number') return said !== undefined && /^-?\d/.test(said) && Number(said) === value
  return said === String(value)
}

/** Texts that no header can hold stand there as base64, marked as such. */
function decoded(header: string): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(header) ?? []
  if (base64 === undefined) return header
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes.toString() : undefined
}

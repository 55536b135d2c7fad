import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import type { Json } from '../base/canonical.ts'
import { headerMembers, isHeaderName } from '../model/config/param-headers.ts'
import type { Offer } from '../runtime/hosting/offer.ts'
import type { McpDoor } from './door.ts'
import { listedTools, toolNamed } from './tools.ts'

const headerMismatch = -32020

/**
 * The refusal of a call whose headers do not repeat the arguments that its tool wants repeated there (`x-mcp-header`):
 * whoever routes by such a header must not be told something else than we are. Undefined if all is well, and for tools
 * that this caller cannot see: those answer nothing about themselves.
 */
export function refusedHeaders(
  { host, caller }: Pick<McpDoor, 'host' | 'caller'>,
  headers: Headers,
  body: unknown,
): Response | undefined {
  const { id = null, method, params } = (body ?? {}) as ToolCall
  if (method !== 'tools/call' || params?._meta?.[PROTOCOL_VERSION_META_KEY] === undefined) return undefined
  if (!wantsHeaders(host.current())) return undefined
  const named = toolNamed(host, String(params.name))?.name
  const tool = listedTools({ host, caller }).find(({ name }) => name === named)
  const wrong = headersIn(tool?.inputSchema as Members).find(({ header, path }) => {
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

const wanting = new WeakMap<Offer, boolean>()

/** Looked at once for each offer: hardly any has such a tool. */
function wantsHeaders(offer: Offer): boolean {
  const known = wanting.get(offer)
  if (known !== undefined) return known
  const found = offer.registry
    .all()
    .some(({ descriptor }) => descriptor.input_schema && hasHeaders(descriptor.input_schema))
  wanting.set(offer, found)
  return found
}

const hasHeaders = (schema: object): boolean => headersIn(schema as Members).length > 0

/** Clients do not call tools that want something else than a header. */
const headersIn = (schema: Members) => headerMembers(schema as Json).filter(({ header }) => isHeaderName(header))

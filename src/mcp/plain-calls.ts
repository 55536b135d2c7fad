import {
  type CallToolRequest,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type InputRequiredResult,
  type JSONRPCMessage,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type ProtocolError,
  type RequestId,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server'
import { isObject } from '../base/object.ts'
import type { CallContext, Era } from './door.ts'
import { answerCall, identityOf, type Served } from './server.ts'

/**
 * Answers calls beside the library, which looks at each message as often as it has layers. The library finds out which
 * revision a connection speaks, and is asked first about each envelope. A call with one that it has taken before, and
 * with nothing else than a name and arguments, is answered here, as it would be there.
 */
export interface PlainCalls {
  /** True for what is dealt with here; everything else is for the library. */
  take(message: unknown): boolean
  /** Told of the envelope of a call that the library has looked at and handed on. */
  accept(envelope: unknown): void
  /** Nobody waits for answers any more. */
  close(): void
}

export interface PlainCallsDeps {
  /** The server that speaks on the connection. */
  readonly served: () => Served | undefined
  readonly send: (message: JSONRPCMessage) => void
}

export function openPlainCalls({ served, send }: PlainCallsDeps): PlainCalls {
  const underway = new Map<unknown, AbortController>()
  let accepted: string | undefined

  const answer = async (by: Served, call: PlainCall): Promise<void> => {
    const controller = new AbortController()
    underway.set(call.id, controller)
    const answered = await answerCall(by, call.params, contextOf(call, controller.signal, send)).then(
      (result) => ({ result: call.era === 'modern' ? stamped(result, by) : result }),
      ({ code, message, data }: ProtocolError) => ({ error: { code, message, ...(data !== undefined && { data }) } }),
    )
    underway.delete(call.id)
    if (!controller.signal.aborted) send({ jsonrpc: '2.0', id: call.id, ...answered } as JSONRPCMessage)
  }
  const cancel = ({ jsonrpc, id, params }: Members): boolean => {
    const controller = isObject(params) ? underway.get(params['requestId']) : undefined
    if (jsonrpc !== '2.0' || id !== undefined || controller === undefined) return false
    controller.abort()
    return true
  }

  return {
    take: (message) => {
      if (!isObject(message)) return false
      if (message['method'] === 'notifications/cancelled') return cancel(message)
      const call = message['method'] === 'tools/call' ? plainCall(message) : undefined
      if (call === undefined || call.envelope !== accepted || underway.has(call.id)) return false
      const by = served()
      if (by === undefined || by.deps.era !== call.era || asksItself(by)) return false
      void answer(by, call)
      return true
    },
    accept: (envelope) => {
      accepted = envelopeText(envelope)
    },
    close: () => {
      accepted = undefined
      for (const controller of underway.values()) controller.abort()
    },
  }
}

type Members = Readonly<Record<string, unknown>>

interface PlainCall {
  readonly id: RequestId
  readonly era: Era
  readonly params: CallToolRequest['params']
  readonly envelope: string
}

/** A call with nothing else than a name, arguments and what goes with every request. */
function plainCall(message: Members): PlainCall | undefined {
  const { jsonrpc, id, params } = message
  if (jsonrpc !== '2.0' || !isId(id) || !isObject(params) || !hasOnly(messageKeys, message)) return undefined
  const { name, arguments: given = {}, _meta = {} } = params
  if (typeof name !== 'string' || !isObject(given) || !isObject(_meta) || !hasOnly(paramKeys, params)) return undefined
  // The library leaves this member out, and we refuse it.
  if (Object.hasOwn(given, '__proto__') || !isKnown(_meta)) return undefined
  const era = PROTOCOL_VERSION_META_KEY in _meta ? 'modern' : 'legacy'
  const envelope = envelopeText(era === 'modern' ? _meta : undefined)
  return envelope === undefined ? undefined : { id, era, params: params as CallToolRequest['params'], envelope }
}

const messageKeys: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const paramKeys: ReadonlySet<string> = new Set(['name', 'arguments', '_meta'])
const hasOnly = (known: ReadonlySet<string>, members: Members): boolean =>
  Object.keys(members).every((key) => known.has(key))

const isId = (value: unknown): value is RequestId => typeof value === 'string' || Number.isSafeInteger(value)

const envelopeKeys: ReadonlySet<string> = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
])

/** True if nothing of the protocol is in it beside the envelope and a token. */
const isKnown = (meta: Members): boolean =>
  (meta['progressToken'] === undefined || isId(meta['progressToken'])) &&
  Object.keys(meta).every((key) => !key.startsWith('io.modelcontextprotocol/') || envelopeKeys.has(key))

/** An envelope as text, which is the same for the same one; empty for none, and undefined for one that is too deep. */
function envelopeText(envelope: unknown): string | undefined {
  if (!isObject(envelope)) return ''
  try {
    return [...envelopeKeys].map((key) => JSON.stringify(envelope[key])).join('\n')
  } catch {
    return undefined
  }
}

/** In the older revision the library asks whoever sits at the client, and for that it needs the whole call. */
const asksItself = ({ deps, server }: Served): boolean =>
  deps.era === 'legacy' && server.getClientCapabilities()?.elicitation !== undefined

function contextOf({ id, params, era }: PlainCall, signal: AbortSignal, send: PlainCallsDeps['send']): CallContext {
  return {
    mcpReq: {
      id,
      method: 'tools/call',
      ...(params._meta && { _meta: params._meta }),
      ...(era === 'modern' && { envelope: params._meta as never }),
      requestState: () => undefined as never,
      signal,
      notify: async (notification) => send({ jsonrpc: '2.0', ...notification }),
    },
  }
}

/** As results are in the newer revision: saying whose they are, and whether anything is to follow. */
const stamped = (result: CallToolResult | InputRequiredResult, { deps }: Served) => ({
  resultType: 'complete',
  ...result,
  _meta: { ...result._meta, [SERVER_INFO_META_KEY]: identityOf(deps.host) },
})

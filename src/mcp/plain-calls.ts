import {
  type CallToolRequest,
  type CallToolResult,
  type InputRequiredResult,
  type JSONRPCMessage,
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
  /** Told of what the library sends. */
  sent(message: JSONRPCMessage): void
  /** Nobody waits for answers any more. */
  close(): void
}

export interface PlainCallsDeps {
  /** The server that speaks this revision on the connection. */
  readonly served: (era: Era) => Served | undefined
  readonly send: (message: JSONRPCMessage) => void
}

export function openPlainCalls({ served, send }: PlainCallsDeps): PlainCalls {
  const underway = new Map<unknown, AbortController>()
  let asked: PlainCall | undefined
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
  const cancel = ({ requestId, reason }: Members): boolean => {
    const controller = underway.get(requestId)
    controller?.abort(reason)
    return controller !== undefined
  }

  return {
    take: (message) => {
      if (!isObject(message)) return false
      const { method, params } = message
      if (method === 'notifications/cancelled') return isObject(params) && cancel(params)
      const call = method === 'tools/call' ? plainCall(message) : undefined
      if (call === undefined || underway.has(call.id)) return false
      const by = call.envelope === accepted ? served(call.era) : undefined
      if (by === undefined || asksItself(by)) {
        asked = call
        return false
      }
      void answer(by, call)
      return true
    },
    sent: (message) => {
      if (asked !== undefined && 'result' in message && message.id === asked.id) accepted = asked.envelope
    },
    close: () => {
      for (const controller of underway.values()) controller.abort()
    },
  }
}

type Members = Readonly<Record<string, unknown>>

interface PlainCall {
  readonly id: RequestId
  readonly era: Era
  readonly params: CallToolRequest['params']
  /** What of the protocol goes with the request, as text. */
  readonly envelope: string
}

/** A call with nothing else than a name, arguments and what goes with every request. */
function plainCall({ jsonrpc, id, method: _, params, ...rest }: Members): PlainCall | undefined {
  if (jsonrpc !== '2.0' || !isId(id) || !isObject(params) || Object.keys(rest).length > 0) return undefined
  const { name, arguments: given, _meta = {}, ...others } = params
  const isPlain = typeof name === 'string' && (given === undefined || isObject(given)) && isObject(_meta)
  if (!isPlain || Object.keys(others).length > 0) return undefined
  if (_meta['progressToken'] !== undefined && !isId(_meta['progressToken'])) return undefined
  const envelope = Object.entries(_meta).filter(([key]) => key.startsWith('io.modelcontextprotocol/'))
  return {
    id,
    era: PROTOCOL_VERSION_META_KEY in _meta ? 'modern' : 'legacy',
    params: params as CallToolRequest['params'],
    envelope: JSON.stringify(envelope),
  }
}

const isId = (value: unknown): value is RequestId => typeof value === 'string' || Number.isSafeInteger(value)

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

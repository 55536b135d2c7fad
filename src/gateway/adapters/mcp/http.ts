import type { JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { limits } from '../../../base/limits.ts'
import { CallEnded } from '../../ended.ts'
import type { Egress } from '../egress.ts'
import type { ClosableTransport } from './transport.ts'

/** An address as it is asked: all secrets are in their places. */
export interface Address {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** An answer that did not come: the stream on which it was awaited has ended. */
export const streamEnded = 'the stream ended without an answer'

/** Speaks streamable HTTP through the one way out. An answer that is too large is not read to its end. */
export function httpTransport(
  { url, headers }: Address,
  egress: Egress,
  Transport: typeof StreamableHTTPClientTransport,
): ClosableTransport {
  const fetch = async (to: string | URL, init?: RequestInit) => bounded(await egress.fetch(to, init))
  const transport = new Transport(url, { fetch, requestInit: { headers: { ...headers } } })
  const send = transport.send.bind(transport)
  // Without this, whoever waits for an answer on a stream that broke would wait for all of their time.
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.()
        const lost = lostAnswer(message)
        if (lost) transport.onmessage?.(lost)
      },
    })
  return Object.assign(transport, { takesHeaders: true as const, leave: () => transport.terminateSession() })
}

function lostAnswer(message: JSONRPCMessage | JSONRPCMessage[]): JSONRPCMessage | undefined {
  if (Array.isArray(message) || !('method' in message) || !('id' in message)) return undefined
  return { jsonrpc: '2.0', id: message.id, error: { code: 0, message: streamEnded } }
}

function bounded(response: Response): Response {
  if (response.body === null) return response
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const count = isStream ? eventCounter() : byteCounter()
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, out) => {
        if (count(chunk) <= limits.mcpMessageBytesMax) out.enqueue(chunk)
        else out.error(new CallEnded('answer_too_large', 'the answer is too large', { effect: 'unknown' }))
      },
    }),
  )
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}

function byteCounter(): (chunk: Uint8Array) => number {
  let bytes = 0
  return (chunk) => {
    bytes += chunk.byteLength
    return bytes
  }
}

/** A stream may go on as long as it likes, one event of it may not. Events end with an empty line. */
function eventCounter(): (chunk: Uint8Array) => number {
  let [bytes, lineBytes] = [0, 0]
  return (chunk) => {
    for (const byte of chunk) {
      bytes += 1
      if (byte === newline && lineBytes === 0) bytes = 0
      if (byte === newline) lineBytes = 0
      else if (byte !== carriageReturn) lineBytes += 1
    }
    return bytes
  }
}
const newline = 10
const carriageReturn = 13

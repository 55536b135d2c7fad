import type { JSONRPCMessage, RequestId, StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client'
import { limits } from '../../base/limits.ts'
import { CallEnded } from '../../gateway/ended.ts'
import type { Egress } from '../egress/egress.ts'
import { type FloodGate, flood, openFloodGate } from './flood-gate.ts'
import type { ClosableTransport } from './transport.ts'

/** An address as it is asked: all secrets are in their places. */
export interface Address {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** An answer that did not come: the stream on which it was awaited has ended. */
export const streamEnded = 'the stream ended without an answer'

/**
 * Speaks streamable HTTP through the one way out. An answer that is too large is not read to its end; whoever floods us
 * or does not take our answers is cut off.
 */
export function httpTransport(
  { url, headers }: Address,
  egress: Egress,
  sdk: { readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport },
): ClosableTransport {
  const gate = openFloodGate()
  let why: string | undefined
  const cutOff = (reason: string): false => {
    why ??= reason
    void transport.close()
    return false
  }
  const admits = {
    line: () => gate.admitsLine() || cutOff(flood),
    bytes: (count: number) => gate.admitsBytes(count) || cutOff(flood),
  }
  const fetch = async (to: string | URL, init?: RequestInit) => bounded(await egress.fetch(to, init), admits)
  const requestInit = { headers: { ...headers } }
  const transport = new sdk.StreamableHTTPClientTransport(url, {
    fetch,
    requestInit,
    reconnectionScheduler: patientScheduler(),
  })
  const streams: Streams = new Map()
  listenThrough<JSONRPCMessage>(transport, 'onmessage', (message) => {
    if (!('method' in message)) streams.delete(message.id)
    return why === undefined && (gate.admits(message) || cutOff(flood))
  })
  // An event that is no message is told as an error, and costs as much.
  listenThrough(transport, 'onerror', () => why === undefined && (gate.admits(undefined) || cutOff(flood)))
  transport.send = sending(transport, { gate, streams }, () => cutOff('it does not take what it is answered'))
  const leave = () => transport.terminateSession()
  return Object.defineProperty(Object.assign(transport, { leave }), 'why', {
    get: () => why,
  })
}

/** Whoever listens hears only what is admitted. */
function listenThrough<Heard>(
  transport: Transport,
  event: 'onmessage' | 'onerror',
  admits: (heard: Heard) => boolean,
): void {
  type Listener = ((heard: Heard, extra?: unknown) => void) | undefined
  let listener: Listener
  Object.defineProperty(transport, event, {
    get: () => listener,
    set: (listens: Listener) => {
      listener = listens && ((heard, extra) => (admits(heard) ? listens(heard, extra) : undefined))
    },
  })
}

type Send = Transport['send']

/** The streams of requests that wait for their answer, where only we can end them. */
type Streams = Map<RequestId | undefined, AbortController>

/** Requests wait for their answer; all else has a short time to arrive, and few answers of ours are on their way at once. */
function sending(
  transport: Transport,
  { gate, streams }: { gate: FloodGate; streams: Streams },
  tooMany: () => void,
): Send {
  const send: Send = transport.send.bind(transport)
  let replies = 0
  return async (message, options) => {
    if ('method' in message && 'id' in message) {
      gate.sent(message)
      const onRequestStreamEnd = () => endStream(transport, message.id, options)
      const requestSignal = options?.requestSignal ?? openStream(streams, message.id)
      return send(message, { ...options, onRequestStreamEnd, requestSignal })
    }
    const isReply = !('method' in message)
    if (isReply && replies >= limits.mcpRepliesMax) return tooMany()
    if (isReply) replies += 1
    try {
      await send(message, { ...options, requestSignal: AbortSignal.timeout(limits.mcpReplyMs) })
    } finally {
      if (isReply) replies -= 1
      else if (message.method === 'notifications/cancelled') leaveStream(streams, message.params?.['requestId'])
    }
  }
}

function openStream(streams: Streams, id: RequestId): AbortSignal {
  const stream = new AbortController()
  streams.set(id, stream)
  return stream.signal
}

/** In the older revision a request that was taken back would otherwise be listened to as long as its server likes. */
function leaveStream(streams: Streams, id: unknown): void {
  streams.get(id as RequestId)?.abort()
  streams.delete(id as RequestId)
}

/** Without this, whoever waits for an answer on a stream that broke would wait for all of their time. */
function endStream(transport: Transport, id: RequestId, options: Parameters<Send>[1]): void {
  options?.onRequestStreamEnd?.()
  transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: 0, message: streamEnded } })
}

/**
 * When a stream that ended is opened again. The library does so at once if the server says so, and counts only failures:
 * here no pause is very short, and each is longer than the last while the streams between them are shorter than they are.
 * Streams that end while another waits wait as long as that: the calls under way at once are no fault of their server.
 */
export function patientScheduler(): (reconnect: () => void, delayMs: number) => () => void {
  let [pauseMs, openedAt] = [0, 0]
  return (reconnect, delayMs) => {
    const now = performance.now()
    const atLeast = (leastMs: number) =>
      Math.min(Math.max(delayMs, limits.mcpStreamPauseMs, leastMs), limits.backoffMaxMs)
    const isAnotherWaiting = now < openedAt
    if (!isAnotherWaiting) {
      pauseMs = atLeast(now - openedAt <= pauseMs ? pauseMs * 2 : 0)
      openedAt = now + pauseMs
    }
    const timer = setTimeout(reconnect, isAnotherWaiting ? atLeast(pauseMs) : pauseMs).unref()
    return () => clearTimeout(timer)
  }
}

/** Asked of what comes in a stream, before it is read. */
interface Admits {
  line(): boolean
  bytes(count: number): boolean
}

/** A response that fails once it is too large, or has lines or bytes that are not admitted. */
function bounded(response: Response, admits: Admits): Response {
  if (response.body === null) return response
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
  const count = isStream ? eventCounter(admits) : byteCounter()
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
function eventCounter(admits: Admits): (chunk: Uint8Array) => number {
  let [bytes, lineBytes] = [0, 0]
  return (chunk) => {
    if (!admits.bytes(chunk.byteLength)) return Number.POSITIVE_INFINITY
    for (const byte of chunk) {
      bytes += 1
      if (byte === newline && !admits.line()) return Number.POSITIVE_INFINITY
      if (byte === newline && lineBytes === 0) bytes = 0
      if (byte === newline) lineBytes = 0
      else if (byte !== carriageReturn) lineBytes += 1
    }
    return bytes
  }
}
const newline = 10
const carriageReturn = 13

import type { RequestId, StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client'
import { limits } from '../../base/limits.ts'
import { lineCutter } from '../../base/lines.ts'
import { CallEnded } from '../../gateway/ended.ts'
import type { Egress } from '../egress/egress.ts'
import { type ClosableTransport, type FloodGate, flood, openFloodGate } from './transport.ts'

/** An address as it is asked: all secrets are in their places. */
export interface Address {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** Stands for an answer that did not come before its stream ended. */
export const streamEnded = 'the stream ended without an answer'

type Sdk = { readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport }

/** Streamable HTTP through the one way out. A server that floods us or does not take our answers is cut off. */
export function httpTransport({ url, headers }: Address, egress: Egress, sdk: Sdk): ClosableTransport {
  const gate = openFloodGate()
  // The streams on which requests wait for their answers, where only we can end them.
  const streams = new Map<RequestId, AbortController>()
  let why: string | undefined
  let replies = 0
  const cutOff = (reason: string): void => {
    why ??= reason
    void client.close()
  }
  const admit = (isAdmitted: boolean): boolean => {
    if (!isAdmitted) cutOff(flood)
    return isAdmitted
  }
  const client = new sdk.StreamableHTTPClientTransport(url, {
    fetch: async (to, init) => limitAnswer(await egress.fetch(to, init), gate, admit),
    requestInit: { headers: { ...headers } },
    reconnectionScheduler: patientScheduler(),
  })
  client.onmessage = (message) => {
    if (!('method' in message) && message.id !== undefined) streams.delete(message.id)
    if (why === undefined && admit(gate.admits(message))) transport.onmessage?.(message)
  }
  // An event that is no message is reported as an error, and costs as much.
  client.onerror = (error) => {
    if (why === undefined && admit(gate.admits(undefined))) transport.onerror?.(error)
  }
  client.onclose = () => transport.onclose?.()

  const sendThrough: Transport['send'] = client.send.bind(client)
  const openStream = (id: RequestId): AbortSignal => {
    const stream = new AbortController()
    streams.set(id, stream)
    return stream.signal
  }
  const endStream = (id: RequestId) => {
    streams.get(id)?.abort()
    streams.delete(id)
  }
  const send: Transport['send'] = async (message, options) => {
    if ('method' in message && 'id' in message) {
      const { id } = message
      gate.sent(message)
      const onRequestStreamEnd = () => {
        options?.onRequestStreamEnd?.()
        // Without it a call whose stream broke would wait for all of its time.
        transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: 0, message: streamEnded } })
      }
      const requestSignal = options?.requestSignal ?? openStream(id)
      return sendThrough(message, { ...options, onRequestStreamEnd, requestSignal })
    }
    const isReply = !('method' in message)
    if (isReply && replies >= limits.mcpRepliesMax) return cutOff('it does not take what it is answered')
    if (isReply) replies += 1
    try {
      await sendThrough(message, { ...options, requestSignal: AbortSignal.timeout(limits.mcpReplyMs) })
    } finally {
      if (isReply) replies -= 1
      // In the older revision the stream of a cancelled request would stay open as long as its server likes.
      else if (message.method === 'notifications/cancelled') endStream(message.params?.['requestId'] as RequestId)
    }
  }
  const transport: ClosableTransport = {
    hasPerRequestStream: true,
    get sessionId() {
      return client.sessionId
    },
    get why() {
      return why
    },
    setProtocolVersion: (version) => client.setProtocolVersion(version),
    start: () => client.start(),
    send,
    leave: () => client.terminateSession(),
    close: () => client.close(),
  }
  return transport
}

/**
 * Decides when a stream that ended is opened again. The library opens it at once if the server says so, and counts only
 * failures. Here no pause is very short, and each is longer than the last as long as the streams end sooner than that.
 * Streams that end while another waits are not a new failure: they wait for the same pause.
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

/** A response that fails once it, or one event of it, is too large, or it brings more than is admitted. */
function limitAnswer(response: Response, gate: FloodGate, admit: (isAdmitted: boolean) => boolean): Response {
  const { body, status, statusText, headers } = response
  if (body === null) return response
  const isStream = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
  let bytes = 0
  const linesIn = lineCutter(limits.mcpMessageBytesMax)
  // A stream may go on as long as it likes, but an event of it may not. Events end with an empty line.
  const fits = (chunk: Uint8Array): boolean => {
    if (!isStream) bytes += chunk.byteLength
    else if (!admit(gate.admitsBytes(chunk.byteLength))) return false
    for (const line of isStream ? linesIn(Buffer.from(chunk)) : []) {
      if (!admit(gate.admitsLine())) return false
      bytes = line === '' || line === '\r' ? 0 : bytes + line.length
    }
    return bytes <= limits.mcpMessageBytesMax
  }
  const checking = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, out) => {
      if (fits(chunk)) out.enqueue(chunk)
      else out.error(new CallEnded('answer_too_large', 'the answer is too large', { effect: 'unknown' }))
    },
  })
  return new Response(body.pipeThrough(checking), { status, statusText, headers })
}

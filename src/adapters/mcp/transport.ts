import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { limits } from '../../base/limits.ts'

export interface ClosableTransport extends Transport {
  /** Why there is no connection any more, for people; nothing that the other side wrote. */
  readonly why?: string | undefined
  /** Tells the server that the session is over. */
  leave?(): Promise<void>
}

/** Nothing was sent. */
export class NotSent extends Error {}

/** Why a server is cut off, for people. */
export const flood = 'it sent too many messages'

// Calls that are never answered admit no more bytes than this many answers have.
const answersMax = 64

export type FloodGate = ReturnType<typeof openFloodGate>

/** Limits what a server sends in a second, over any transport. Each answers false once there is too much. */
export function openFloodGate() {
  const messages = perSecond(limits.mcpMessagesPerSecondMax)
  const lines = perSecond(limits.mcpLinesPerSecondMax)
  const bytes = perSecond(limits.mcpUnaskedBytesPerSecondMax)
  // Before bytes are read, none can be told to belong to an answer: each awaited answer admits as many as it may have.
  let [unanswered, welcomeBytes] = [0, 0]
  const expect = (change: 1 | -1): void => {
    unanswered += change
    if (change > 0) welcomeBytes += limits.mcpMessageBytesMax
    welcomeBytes = Math.min(welcomeBytes, Math.min(unanswered, answersMax) * limits.mcpMessageBytesMax)
  }
  return {
    /** A request of ours: its answer is welcome at any time. */
    sent: (message: JSONRPCMessage): void => {
      if ('method' in message && 'id' in message) expect(1)
    },
    /** For a message; undefined is one that cannot be read. An answer that is awaited does not count. */
    admits: (message: JSONRPCMessage | undefined): boolean => {
      if (message === undefined || 'method' in message || unanswered === 0) return messages(1)
      expect(-1)
      return true
    },
    /** For a line without a message. */
    admitsLine: () => lines(1),
    /** For bytes, before they are read. */
    admitsBytes: (count: number): boolean => {
      const welcome = Math.min(count, welcomeBytes)
      welcomeBytes -= welcome
      return bytes(count - welcome)
    },
  }
}

function perSecond(max: number): (count: number) => boolean {
  let [second, sum] = [0, 0]
  return (count) => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) [second, sum] = [now, 0]
    sum += count
    return sum <= max
  }
}

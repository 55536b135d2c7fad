import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { limits } from '../../base/limits.ts'

/** Counts what a server says in a second, whatever it is that carries it. */
export interface FloodGate {
  /** A request of ours: its answer is welcome at any time. */
  sent(message: JSONRPCMessage): void
  /** False if there are too many messages that nobody asked for; undefined for one that cannot be read. */
  admits(message: JSONRPCMessage | undefined): boolean
  /** False if there are too many lines that are no message. */
  admitsLine(): boolean
  /** False if there are too many bytes that nobody asked for. Asked before they are read. */
  admitsBytes(count: number): boolean
}

/** Why one is cut off, for people. */
export const flood = 'it sent too many messages'

export function openFloodGate(): FloodGate {
  const messages = perSecond(limits.mcpMessagesPerSecondMax)
  const lines = perSecond(limits.mcpLinesPerSecondMax)
  const bytes = perSecond(limits.mcpUnaskedBytesPerSecondMax)
  // Before they are read nobody knows which bytes are of an answer: each answer awaited brings as many as it may have.
  let [unanswered, welcomeBytes] = [0, 0]
  const expect = (change: 1 | -1): void => {
    unanswered += change
    if (change > 0) welcomeBytes += limits.mcpMessageBytesMax
    welcomeBytes = Math.min(welcomeBytes, Math.min(unanswered, answersMax) * limits.mcpMessageBytesMax)
  }
  return {
    sent: (message) => {
      if ('method' in message && 'id' in message) expect(1)
    },
    admits: (message) => {
      if (message === undefined || 'method' in message || unanswered === 0) return messages(1)
      expect(-1)
      return true
    },
    admitsLine: () => lines(1),
    admitsBytes: (count) => {
      const welcome = Math.min(count, welcomeBytes)
      welcomeBytes -= welcome
      return bytes(count - welcome)
    },
  }
}

// Whoever lets calls wait gathers no more than the bytes of so many answers.
const answersMax = 64

function perSecond(max: number): (count: number) => boolean {
  let [second, sum] = [0, 0]
  return (count) => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) [second, sum] = [now, 0]
    sum += count
    return sum <= max
  }
}

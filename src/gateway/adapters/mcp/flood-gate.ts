import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { limits } from '../../../base/limits.ts'

/** Counts what a server says in a second, whatever it is that carries it. */
export interface FloodGate {
  /** A request of ours: its answer is welcome at any time. */
  sent(message: JSONRPCMessage): void
  /** False if there are too many messages that nobody asked for. */
  admits(message: JSONRPCMessage): boolean
  /** False if there are too many lines that are no message. */
  admitsLine(): boolean
}

export function openFloodGate(): FloodGate {
  const [messages, lines] = [perSecond(limits.mcpMessagesPerSecondMax), perSecond(limits.mcpLinesPerSecondMax)]
  let unanswered = 0
  return {
    sent: (message) => {
      if ('method' in message && 'id' in message) unanswered += 1
    },
    admits: (message) => {
      if ('method' in message || unanswered === 0) return messages()
      unanswered -= 1
      return true
    },
    admitsLine: lines,
  }
}

function perSecond(max: number): () => boolean {
  let [second, count] = [0, 0]
  return () => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) [second, count] = [now, 0]
    count += 1
    return count <= max
  }
}

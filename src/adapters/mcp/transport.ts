import type { Transport } from '@modelcontextprotocol/client'

export interface ClosableTransport extends Transport {
  /** Why there is no connection any more, for people; nothing that the other side wrote. */
  readonly why?: string | undefined
  /** Tells the other side that nobody will come back. */
  leave?(): Promise<void>
}

/** Nothing has left us. */
export class NotSent extends Error {}

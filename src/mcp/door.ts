import type { RequestStateCodec } from '@modelcontextprotocol/server'
import type { AmbitHost, CallCaller } from '../runtime/hosting/host.ts'
import type { AgentTool } from '../runtime/operations/agent-tool.ts'
import type { Content } from './content.ts'

/** A call that waits for people, as its client carries it from one round to the next. It gives no right. */
export interface WaitingState {
  readonly invocationId: string
  readonly approvalId: string
  /** How often the client was asked to come back. */
  readonly rounds: number
}

/** What one request of a client stands on. */
export interface McpDoor {
  readonly host: AmbitHost
  readonly caller: CallCaller
  /** `legacy` clients know nothing of results that ask for input. */
  readonly era: 'legacy' | 'modern'
  /** The task that its calls belong to, unless a call names another. */
  readonly correlationId: string
  /** What it serves beside tools. */
  readonly content: Content
  readonly states: RequestStateCodec<WaitingState>
  /** How the caller puts requests to agents, if it may. */
  readonly agent?: (() => Promise<AgentTool | undefined>) | undefined
  /** How long one round waits for people before it asks the client again; 20 s unless given. */
  readonly roundMs?: number
  /** True where a connection that is cut says nothing about a call, which then goes on. */
  readonly outlivesConnection?: boolean
  /** False leaves the texts of results as they are: for fixtures alone, models are shown nothing else than fenced text. */
  readonly fenced?: boolean
}

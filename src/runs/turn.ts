import type { Json } from '../base/canonical.ts'
import type { JsonSchema } from '../model/schemas.ts'

/** What a model is shown of a tool. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

/** A tool that a model wants called. Arguments that are no JSON object stay text, and the call is refused. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly args: { readonly [member: string]: Json } | string
}

export type Message =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly calls: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly content: string }

export interface TurnRequest {
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDescription[]
  readonly signal: AbortSignal
  /** For a model that streams to say that a part came; another one is silent until its turn is there. */
  readonly onPart?: () => void
}

export interface Turn {
  readonly text: string
  readonly calls: readonly ToolCall[]
  /** What the provider counted; missing where it does not say. */
  readonly usage: { readonly inputTokens?: number; readonly outputTokens?: number }
}

/** One turn of a model: a prompt in, text and calls out. Fails with `model.*`; `model.limited` may be tried again. */
export interface Model {
  readonly id: string
  turn(request: TurnRequest): Promise<Turn>
}

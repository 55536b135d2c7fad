import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import type { InvocationResult } from '../model/wire/result.ts'
import { approvalIdOf } from '../runtime/hosting/tools.ts'
import type { McpDoor, WaitingState } from './door.ts'

/** Clients give up on a request after a minute. */
const defaultRoundMs = 20_000

/** Clients give up on a call after ten rounds, and do not say what it was waiting for. */
const roundsMax = 8

/** The call that this round goes on with, once people have decided or the round is over; undefined for a new call. */
export async function resumedCall(door: McpDoor, context: ServerContext): Promise<WaitingState | undefined> {
  const state = context.mcpReq.requestState<WaitingState>()
  if (state === undefined || hasLeft(context)) return state
  const { signal } = context.mcpReq
  const timeoutMs = door.roundMs ?? defaultRoundMs
  await door.host.gateway.waitForDecision(state.approvalId, { timeoutMs, signal }).catch(() => undefined)
  return state
}

/** True if the person at the client does not want to be asked again. */
export function hasLeft({ mcpReq: { inputResponses } }: ServerContext): boolean {
  const answer = inputResponse(inputResponses, answerName)
  return answer.kind === 'elicit' && (answer.action !== 'accept' || answer.content?.['next'] === 'stop')
}

/**
 * Asks the client to come back when people have decided. What is answered there approves nothing: it only says that it is
 * time to look again. Undefined for a client that cannot come back, or has come often enough; it is told in words.
 */
export async function askToReturn(
  door: McpDoor,
  server: Server,
  context: ServerContext,
  result: InvocationResult,
  told: CallToolResult,
): Promise<InputRequiredResult | undefined> {
  const approvalId = approvalIdOf(result)
  if (approvalId === undefined) return undefined
  const prompts = canAsk(door, server, context)
  if (door.era === 'legacy' && !prompts) return undefined
  const rounds = (context.mcpReq.requestState<WaitingState>()?.rounds ?? 0) + 1
  if (rounds > roundsMax) return undefined
  const requestState = await door.states.mint({ invocationId: result.invocation_id, approvalId, rounds }, context)
  if (!prompts) return inputRequired({ requestState })
  const [first] = told.content
  const message = first?.type === 'text' ? first.text : 'The call waits for approval.'
  return inputRequired({
    requestState,
    inputRequests: { [answerName]: inputRequired.elicit({ message, requestedSchema }) },
  })
}

const answerName = 'approval'

const requestedSchema = {
  type: 'object' as const,
  properties: {
    next: {
      type: 'string' as const,
      title: 'When it has been approved',
      description: 'continue: look whether it is approved, and go on; stop: leave it waiting',
      enum: ['continue', 'stop'],
    },
  },
  required: ['next'],
}

function canAsk({ era }: McpDoor, server: Server, { mcpReq: { envelope } }: ServerContext): boolean {
  const declared =
    era === 'modern' ? (envelope as Envelope)?.[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities()
  const { elicitation } = declared ?? {}
  // Who can do no more than visit addresses has no form to answer in.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ReturnType<Server['getClientCapabilities']> } | undefined

import type { Message, TurnRequest } from '../runs/turn.ts'

/** What all specifications of the AI SDK take alike. */
export interface AiSdkRequest {
  readonly prompt: readonly { readonly role: string; readonly content: string | object[] }[]
  readonly tools?: readonly object[]
  readonly abortSignal: AbortSignal
}

export function aiSdkRequest({ system, messages, tools, signal }: TurnRequest): AiSdkRequest {
  const said: { role: Message['role']; content: object[] }[] = []
  for (const message of messages) {
    const content = partsOf(message)
    const last = said.at(-1)
    // Some providers want the results of one turn together.
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(...content)
    else if (content.length > 0) said.push({ role: message.role, content })
  }
  return {
    prompt: system === '' ? said : [{ role: 'system', content: system }, ...said],
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ ...tool, type: 'function' })) }),
    abortSignal: signal,
  }
}

function partsOf(message: Message): object[] {
  if (message.role === 'tool') {
    const { callId: toolCallId, name: toolName, content: value } = message
    return [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }]
  }
  const text = message.content === '' && message.role === 'assistant' ? [] : [{ type: 'text', text: message.content }]
  if (message.role === 'user') return text
  // Providers refuse arguments that are no object; why such a call failed is in its result.
  const calls = message.calls.map(({ id: toolCallId, name: toolName, args }) => {
    return { type: 'tool-call', toolCallId, toolName, input: typeof args === 'string' ? {} : args }
  })
  return [...text, ...calls]
}

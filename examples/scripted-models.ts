// Models that say what they are told to say, for the examples: a turn is a text, or the input of a call of `desk_refund`.

import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { type AgentOutputItem, type Model, setTracingDisabled, Usage } from '@openai/agents'
import type { LanguageModel } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'

type Turn = string | object

export function aiSDKModel(turns: readonly Turn[]): LanguageModel {
  const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 }
  return new MockLanguageModelV4({
    doGenerate: turns.map((turn, index) => ({
      content: [
        typeof turn === 'string'
          ? { type: 'text', text: turn }
          : { type: 'tool-call', toolCallId: `call_${index}`, toolName: 'desk_refund', input: JSON.stringify(turn) },
      ],
      finishReason: { unified: typeof turn === 'string' ? 'stop' : 'tool-calls', raw: undefined },
      usage: { inputTokens: none, outputTokens: none },
      warnings: [],
    })),
  })
}

export function openAIAgentsModel(turns: readonly Turn[]): Model {
  // Traces would be sent to OpenAI.
  setTracingDisabled(true)
  const left = turns.map(outputOf)
  return {
    getResponse: async () => ({ usage: new Usage(), output: left.splice(0, 1) }),
    getStreamedResponse: () => {
      throw new Error('this model does not stream')
    },
  }
}

const outputOf = (turn: Turn, index: number): AgentOutputItem =>
  typeof turn === 'string'
    ? { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: turn }] }
    : { type: 'function_call', callId: `call_${index}`, name: 'desk_refund', arguments: JSON.stringify(turn) }

export function langChainModel(turns: readonly Turn[]): ReturnType<typeof fakeModel> {
  const model = fakeModel()
  for (const turn of turns)
    if (typeof turn === 'string') model.respond(new AIMessage(turn))
    else model.respondWithTools([{ name: 'desk_refund', args: turn }])
  return model
}

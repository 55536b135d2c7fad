// A tool loop of LangChain whose tools are the capabilities of a host. Its model is a script, so it needs no key.
// Run it with `npx node examples/langchain.ts`.

// cut: import
import { type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { toLangChainTools } from '../src/bridges/langchain.ts'
// end
import { atDesk, printResult } from './desk.ts'
import { langChainModel } from './scripted-models.ts'

const model = langChainModel([
  { order: 'A-17', cents: 1_250 },
  { order: 'A-18', cents: 900_000 },
  { order: 'A-19', cents: 9_000 },
  'A-17 is paid. A-18 is too much, and A-19 waits for a team lead.',
  { order: 'A-19', cents: 9_000 },
  'The team lead agreed, and A-19 is paid.',
])

await atDesk(async ({ gateway, agent, agree, prove }) => {
  // cut: tools
  const tools = toLangChainTools(gateway, agent, { correlationId: 'ticket-4711', onResult: printResult })
  const bound = model.bindTools(tools)
  const ask = async (text: string): Promise<BaseMessage> => {
    const messages: BaseMessage[] = [new HumanMessage(text)]
    for (;;) {
      const answer = await bound.invoke(messages)
      if (!answer.tool_calls?.length) return answer
      messages.push(answer)
      for (const call of answer.tool_calls) {
        const tool = tools.find(({ name }) => name === call.name)
        if (tool !== undefined) messages.push(await tool.invoke({ ...call, type: 'tool_call' }))
      }
    }
  }
  console.log((await ask('Pay back A-17, A-18 and A-19.')).text)
  // end
  await agree()
  console.log((await ask('A team lead has agreed to A-19.')).text)
  await prove('ticket-4711')
})

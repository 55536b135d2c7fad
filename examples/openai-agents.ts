// An agent of the OpenAI Agents SDK whose tools are the capabilities of a host, and wait for people to agree. Its model is
// a script, so it needs no key. Run it with `npx node examples/openai-agents.ts`.

// cut: import
import { Agent, run } from '@openai/agents'
import { toOpenAIAgentsTools } from '../src/bridges/openai-agents.ts'
// end
import { atDesk, printResult } from './desk.ts'
import { openAIAgentsModel } from './scripted-models.ts'

const model = openAIAgentsModel([
  { order: 'A-17', cents: 1_250 },
  { order: 'A-18', cents: 900_000 },
  { order: 'A-19', cents: 9_000 },
  'A-17 and A-19 are paid. A-18 is too much.',
])

await atDesk(async ({ gateway, agent, agree, prove }) => {
  // cut: tools
  const options = { correlationId: 'ticket-4711', onApproval: 'wait', onResult: printResult } as const
  const tools = toOpenAIAgentsTools(gateway, agent, options)
  const clerk = new Agent({ name: 'clerk', instructions: 'You pay money back.', model, tools })
  const running = run(clerk, 'Pay back A-17, A-18 and A-19.')
  // end
  while ((await gateway.pendingFor('ida')).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  await agree()
  console.log((await running).finalOutput)
  await prove('ticket-4711')
})

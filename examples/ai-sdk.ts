// An agent of the AI SDK whose tools are the capabilities of a host. Its model is a script, so it needs no key.
// Run it with `npx node examples/ai-sdk.ts`.

// cut: import
import { generateText, isStepCount } from 'ai'
import { toAISDKTools } from '../src/bridges/ai-sdk.ts'
// end
import { atDesk, printResult } from './desk.ts'
import { aiSDKModel } from './scripted-models.ts'

const model = aiSDKModel([
  { order: 'A-17', cents: 1_250 },
  { order: 'A-18', cents: 900_000 },
  { order: 'A-19', cents: 9_000 },
  'A-17 is paid. A-18 is too much, and A-19 waits for a team lead.',
  { order: 'A-19', cents: 9_000 },
  'The team lead agreed, and A-19 is paid.',
])

await atDesk(async ({ gateway, agent, agree, prove }) => {
  // cut: tools
  const tools = toAISDKTools(gateway, agent, { correlationId: 'ticket-4711', onResult: printResult })
  const ask = (prompt: string) => generateText({ model, tools, prompt, stopWhen: isStepCount(8) })
  const { text, steps } = await ask('Pay back A-17, A-18 and A-19.')
  // end
  console.log(text)
  console.log(`\nwhat the model was told of A-19:\n${steps[2]?.toolResults[0]?.output}\n`)
  await agree()
  console.log((await ask('A team lead has agreed to A-19.')).text)
  await prove('ticket-4711')
})

// An agent, a run under one grant, and what it remembered there. Run it with `npx node examples/hello-agent.ts`.

// cut: hello
import { createAmbit, defineAgent } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'

// Any model of the AI SDK goes here; this one needs no key.
const model = scriptedModel([{ calls: [{ name: 'memory_write', args: { content: 'Ada likes mail.' } }] }, 'Noted.'])
const resources = { memory: { mode: 'read-write' } } as const
const desk = defineAgent({ id: 'desk', instruction: 'You keep notes.', model, resources })

const ambit = await createAmbit({ agents: [desk] })
const run = await ambit.run('desk', 'Ada likes mail.', { context: ['acme/desk'] })
for await (const { type } of run.events()) console.log(type)
console.log((await run.result()).result)
const { entries } = await ambit.memory.list('acme/desk')
console.log(entries.map(({ content }) => content))
await ambit.close()
// end

// A provider of our own, tickets of customers, used by an agent with a scripted model.
// Run it with `npx node examples/provider.ts`.

// cut: provider
import { z } from 'zod'
import { createAmbit, defineAgent, defineProvider } from '../src/index.ts'

export const tickets = () =>
  defineProvider({
    kind: 'tickets',
    maxMode: 'read-write',
    // Which way it may look from a grant, and which way it may write.
    reads: ['at', 'down'],
    writes: ['at'],
    config: z.strictObject({ shown: z.int().min(1).max(50).default(20) }),
    tools: {
      list: {
        description: 'Lists tickets, newest first.',
        run: async (_, { store, config }) => {
          const { entries } = await store.find({ limit: config.shown })
          return {
            result: entries.map(({ id, content }) => ({ id, text: content })),
            scopes: entries.map(({ scope }) => scope),
          }
        },
      },
      open: {
        description: 'Opens a ticket.',
        mode: 'read-write',
        input: z.strictObject({ text: z.string().min(1).max(2_000) }),
        run: ({ text }, { grants, store }) => {
          const [scope = ''] = grants
          return { result: { id: store.add({ scope, content: text }) }, scopes: [scope] }
        },
      },
    },
    // What the prompt of a run says of it, before the first turn.
    prompt: async ({ store }) => {
      const { entries } = await store.find({ limit: 50 })
      return { result: `Tickets so far: ${entries.length}`, scopes: entries.map(({ scope }) => scope) }
    },
  })

// end

import { scriptedModel } from '../src/testing/index.ts'

if (import.meta.main) {
  const model = scriptedModel([
    { calls: [{ name: 'tickets_open', args: { text: 'The door of room 4 does not close.' } }] },
    { calls: [{ name: 'tickets_list' }] },
    'One ticket is open.',
    { calls: [{ name: 'tickets_list' }] },
    'There are none.',
  ])
  // cut: use
  const desk = defineAgent({
    id: 'desk',
    instruction: 'You keep the tickets.',
    model,
    resources: { tickets: { mode: 'read-write', config: { shown: 5 } } },
  })
  const ambit = await createAmbit({ agents: [desk], providers: [tickets()] })
  for (const customer of ['acme', 'brill']) {
    const run = await ambit.run('desk', 'What is open?', { context: [`northlight/${customer}`] })
    for await (const { type, data } of run.events())
      if (type === 'tool.finished') console.log(customer, data['tool'], JSON.stringify(data['output']))
    const { result } = await run.result()
    console.log(customer, result)
  }
  await ambit.close()
  // end
}

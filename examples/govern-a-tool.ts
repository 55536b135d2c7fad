// Puts a tool of the AI SDK behind the gateway: from then on it is called under policy, and on record.
// Run it with `npx node examples/govern-a-tool.ts`.

// cut: tool
import { tool } from 'ai'
import { z } from 'zod'
import { fromAISDKTool } from '../src/bridges/ai-sdk.ts'
// end
import { atDesk, printResult } from './desk.ts'

// cut: govern
const orderStatus = tool({
  description: 'Says where an order is.',
  inputSchema: z.strictObject({ order: z.string().regex(/^A-\d+$/) }),
  execute: async ({ order }) => ({ order, state: 'delivered' }),
})
const status = fromAISDKTool(orderStatus, {
  id: 'desk.order_status',
  version: '1.0.0',
  policy: { auth_required: true, name: 'orders', statement: 'Whoever has a key may ask.' },
  effects: [],
})
// end

await atDesk(
  async ({ gateway, agent, prove }) => {
    const correlation = { correlation_id: 'ticket-4711' }
    for (const order of ['A-17', 'no order']) {
      const envelope = { capability_id: 'desk.order_status', payload: { order }, correlation }
      printResult((await gateway.invoke(agent, envelope)).result)
    }
    await prove('ticket-4711')
  },
  [status],
)

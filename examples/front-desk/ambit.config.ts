// What the guide on running agents begins with: a front desk with one capability, and a model that needs no key.

// cut: config
import { defineCapability, defineConfig } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// It does what it is told, so that all of this runs without a key. Any model of the AI SDK goes here: `openai('gpt-5')`.
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  const usage = { inputTokens: 400, outputTokens: 20 }
  if (last?.role === 'tool') return { text: `Done, with ${last.name}.`, usage }
  if (/^pay/i.test(last?.content ?? '')) return { calls: [{ name: 'desk_refund', args: { cents: 9000 } }], usage }
  return { calls: [{ name: 'memory_write', args: { content: last?.content ?? '', topics: ['mail'] } }], usage }
})

const refund = defineCapability(
  {
    id: 'desk.refund',
    version: '1.0.0',
    description: 'Pays money back.',
    input: { type: 'object', required: ['cents'], properties: { cents: { type: 'integer' } } },
    effects: ['money.move'],
  },
  ({ cents }) => ({ paid: cents ?? 0 }),
)

export default defineConfig({
  tenant: 'acme',
  host: { port: 0 },
  capabilities: [refund],
  policies: [
    {
      name: 'refunds',
      version: '1',
      applies_to: ['desk.*'],
      rules: [{ id: 'ask', when: true, decision: 'requires_approval', approval: { roles: ['team_lead'] } }],
    },
  ],
  // Manifests, or folders of them, and the models that they name; `default` is for those that name none.
  agents: ['agents'],
  models: { default: model },
  prices: { scripted: { input: 125, output: 1000 } },
})
// end

// Agents to start over a door: their model does what it is told, so that a test says with its input what happens.

import { conformanceSpec } from '../../src/chp/conformance.ts'
import type { CapabilitySpec } from '../../src/gateway/capability.ts'
import { defineAgent } from '../../src/runtime/agents/agent.ts'
import type { AgentsSpec } from '../../src/runtime/agents/agents.ts'
import type { Capability } from '../../src/runtime/hosting/offer.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { echo } from './host.ts'

/** Told `call test_pay {"cents":5}` it makes that call, then says what came of it; anything else it says again. */
const obeyingModel = (): ScriptedModel =>
  scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return `done: ${last.content}`
    const [, name, args] = /call (\w+) (\{.*\})/s.exec(last?.content ?? '') ?? []
    return name === undefined ? `heard: ${last?.content}` : { calls: [{ name, args: JSON.parse(args ?? '{}') }] }
  })

const capability = (id: string, spec: Partial<CapabilitySpec> = {}): Capability => echo({ id, ...spec })

/** Anybody may look; to pay needs the yes of a person. */
export const testCapabilities: readonly Capability[] = [
  capability('test.look'),
  capability('test.pay', { autonomy: { tier: 'approval_required' }, effects: ['money.move'] }),
]

/** A clerk with memory and a helper, and an agent that is code and takes an object. */
export function testAgents(): { readonly agents: Partial<AgentsSpec>; readonly model: ScriptedModel } {
  const model = obeyingModel()
  const helper = defineAgent({ id: 'helper', instruction: 'Help.', description: 'Helps.' })
  const clerk = defineAgent({
    id: 'clerk',
    instruction: 'Do what you are told.',
    tools: ['test.look', 'test.pay', helper],
    resources: { memory: { mode: 'read-write' } },
    contextWrite: true,
  })
  const adder = defineAgent({
    id: 'adder',
    kind: 'tool',
    input: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
    run: ({ a }: { a: number }) => a + 1,
  })
  return { model, agents: { agents: [clerk, helper, adder], models: { default: model } } }
}

/** What the conformance suite calls, with the agents beside it. */
export const fixtureWithAgents = () => ({
  offer: { ...conformanceSpec, capabilities: [...conformanceSpec.capabilities, ...testCapabilities] },
  agents: testAgents().agents,
})

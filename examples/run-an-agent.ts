// Agents that run under grants: children, a pipeline, a session, a scratchpad, an approval inside a run, memory.
// Run it with `npx node examples/run-an-agent.ts`.

import { scriptedModel } from '../src/testing/index.ts'

// In place of a real model, so that this needs no key: it asks for the tool that its input names, or repeats it.
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `${last.name} answered.`
  if (/^Remember/.test(last?.content ?? ''))
    return { calls: [{ name: 'memory_write', args: { content: last?.content ?? '', topics: ['mail'] } }] }
  if (/^Pay/.test(last?.content ?? '')) return { calls: [{ name: 'desk_refund', args: { cents: 9000 } }] }
  return `You said ${last?.content} (${messages.length - 1} messages before it).`
})

// cut: agent
import { createAmbit, defineAgent, defineCapability } from '../src/index.ts'

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

const desk = defineAgent({
  id: 'desk',
  instruction: 'You are the front desk. Answer in one sentence.',
  model,
  tools: [refund],
  resources: { memory: { mode: 'read-write' } },
  contextWrite: true,
})
// end

// cut: pipeline
const triage = defineAgent({
  id: 'triage',
  kind: 'sequential',
  steps: [
    { id: 'gather', agent: desk, input: 'What is known of {{input.customer}}?', narrow: ['notes'] },
    { id: 'reply', agent: desk, input: 'Answer: {{gather}}', when: '{{input.customer}} != nobody' },
  ],
  output: { customer: '{{input.customer}}', said: '{{reply}}' },
})
// end

// cut: code
const rounds = defineAgent({
  id: 'rounds',
  kind: 'tool',
  run: async (customers: string[], run) => {
    const said = []
    // Each child holds its own customer's branch, and nothing else of what this run was granted.
    for (const customer of customers)
      said.push(await run.invoke('desk', `Hello ${customer}`, { context: [`acme/${customer}`] }))
    return said
  },
})
// end

// cut: open
const ambit = await createAmbit({
  agents: [desk, triage, rounds],
  policies: [
    {
      name: 'refunds',
      version: '1',
      applies_to: ['desk.*'],
      rules: [{ id: 'ask', when: true, decision: 'requires_approval', approval: { roles: ['team_lead'] } }],
    },
  ],
  // In cents for a million tokens, by id of the model: what a run costs is counted, and can be limited.
  prices: { scripted: { input: 125, output: 1000 } },
})
// end

// cut: run
const run = await ambit.run('desk', 'Remember: Ada wants mail on Mondays.', { context: ['acme/desk'] })
for await (const { event_id, type } of run.events()) console.log(event_id, type)
const { status, result, usage } = await run.result()
console.log(status, result, usage.tool_calls)
// end

// cut: hidden
const blind = await (await ambit.run('desk', 'Hello')).result()
console.log(blind.surface.tools, blind.surface.hidden[0])
// end

// cut: children
const all = { context: ['acme'] }
console.log((await (await ambit.run('triage', { customer: 'ada' }, all)).result()).result)
const { run_id: root } = await (await ambit.run('rounds', ['ada', 'bo'], all)).result()
for (const { agent_id, depth, grants } of (await ambit.runs.list({ root })).runs)
  console.log(
    agent_id,
    depth,
    grants.map(({ path }) => path),
  )
// end

// cut: session
for (const text of ['one', 'two']) {
  const talk = await ambit.run('desk', text, { sessionId: 'ticket-4711', contextIds: ['shift-1'] })
  console.log((await talk.result()).result)
}
// end

// cut: approval
await ambit.principals.create('ida')
await ambit.approvers.add('ida', { roles: ['team_lead'] })
const ida = await ambit.withKey((await ambit.keys.create('ida')).secret)

const paying = await ambit.run('desk', 'Pay Ada 90.00 back.')
const { status: before, waits_for } = await paying.settled()
console.log(before, waits_for.length)
for (const approval of waits_for) await ida.approvals.decide(approval, 'approve')
console.log((await paying.result()).result)
// end

// cut: end
const limited = await ambit.run('desk', 'Pay Ada back.', { limits: { calls: 5, activeMs: 60_000, costCents: 10 } })
await limited.settled()
await limited.cancel()
console.log((await limited.result()).status)
// end

// cut: revoke
const hour = new Date(Date.now() + 3_600_000).toISOString()
const waiting = await ambit.run('desk', 'Pay Ada back.', { context: [{ path: 'acme/desk', expiresAt: hour }] })
await waiting.settled()
const { ended } = await ambit.grants.revoke('path', 'acme/desk', { reason: 'the desk closed', cancel: true })
console.log(
  ended.map(({ path }) => path),
  (await waiting.result()).status,
)
// end

// cut: memory
const { entries } = await ambit.memory.list('acme/desk')
for (const { content, state } of entries) console.log(state, content)
const receipt = await ambit.memory.erase('acme', { recursive: true, reason: 'the customer left' })
console.log(receipt.status, receipt.by_resource['memory'])
// end

await ambit.close()

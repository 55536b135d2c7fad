// An orchestrator with two children, each narrowed to one customer. One of them tries to reach the other customer's branch.
// Run it with `npx node examples/orchestrator.ts`.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAmbit, defineAgent, files, verifyBundle } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'ambit-example-'))

// What a model would say: first at work for acme, then for brill, where it was talked into looking at acme's things.
const model = scriptedModel([
  { calls: [{ name: 'files_write', args: { path: 'offer.md', content: 'Acme pays 4 % less.' } }] },
  { calls: [{ name: 'memory_write', args: { content: 'Acme has its offer.', topics: ['offer'] } }] },
  'The offer for acme is written.',
  { calls: [{ name: 'files_read', args: { path: '../acme/offer.md' } }] },
  { calls: [{ name: 'memory_read', args: { query: 'offer' } }] },
  { calls: [{ name: 'agent_lookup', args: { input: { customer: 'acme' } } }] },
  'I may see nothing of acme.',
])

// cut: agents
const reader = defineAgent({
  id: 'reader',
  instruction: 'Say what lies here.',
  model,
  resources: { files: { mode: 'read' } },
})

/** Trusted code that believes its caller: the grants of the run do not. */
const lookup = defineAgent({
  id: 'lookup',
  kind: 'tool',
  description: 'Looks something up about a customer.',
  run: ({ customer }: { customer: string }, run) =>
    run.invoke('reader', 'Go on.', { context: [`northlight/${customer}`] }),
})

const clerk = defineAgent({
  id: 'clerk',
  instruction: 'You work for one customer.',
  model,
  tools: [lookup],
  resources: { memory: { mode: 'read-write' }, files: { mode: 'read-write' } },
})

const orchestrator = defineAgent({
  id: 'orchestrator',
  kind: 'tool',
  run: async (customers: string[], run) => {
    const said: string[] = []
    for (const customer of customers)
      said.push(String(await run.invoke('clerk', `Write to ${customer}.`, { context: [`northlight/${customer}`] })))
    return said
  },
})
// end

// cut: run
const ambit = await createAmbit({
  agents: [orchestrator, clerk, reader],
  providers: [files({ root: join(folder, 'files') })],
})
const run = await ambit.run('orchestrator', ['acme', 'brill'], { context: ['northlight'] })
for await (const { type, run_id, data } of run.events()) {
  const { depth, agent_id, grants } = await ambit.runs.show(run_id)
  const indent = '  '.repeat(depth)
  if (type === 'run.started') console.log(`${indent}${agent_id}, granted ${grants.map(({ path }) => path).join(', ')}`)
  if (type !== 'tool.finished') continue
  const { tool, status, error } = data as { [name: string]: { code?: string } | null }
  console.log(`${indent}  ${tool} ${status} ${error?.code ?? ''}`.trimEnd())
}
const { result } = await run.result()
console.log(result)
// end

// cut: prove
const bundle = await ambit.evidence.export(run.id)
for (const { event_type, capability_id, error, payload } of bundle.events) {
  const { grants } = (payload as { decision: { run?: { grants: string[] } } }).decision.run ?? {}
  if (grants === undefined || event_type === 'execution_started') continue
  console.log(event_type, capability_id, 'under', grants.join(' '), error?.code ?? '')
}
console.log(`${bundle.events.length} events, valid: ${verifyBundle(bundle).valid}`)
// end

await ambit.close()
rmSync(folder, { recursive: true })

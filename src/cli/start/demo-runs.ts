import type { Json } from '../../base/canonical.ts'
import { counted } from '../../base/words.ts'
import { withRun } from '../../client/run-handle.ts'
import { verifyBundle } from '../../evidence/verify/verify.ts'
import type { EvidenceBundle } from '../../model/evidence.ts'
import { operable } from '../../operations/table.ts'
import { defineAgent } from '../../runtime/agents/agent.ts'
import type { AmbitHost } from '../../runtime/hosting/host.ts'
import { type Caller, callerOf } from '../../runtime/identity/caller.ts'
import { performOperation } from '../../runtime/operations/perform.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type Io, line, paint } from '../terminal/io.ts'

/** What the model of the clerks would say: first at work for Oslo, then for Bergen, where a text has talked it into more. */
const said: readonly (string | readonly [tool: string, args: { readonly [member: string]: Json }])[] = [
  ['memory_write', { content: 'Oslo needs 40 doses.' }],
  'Noted.',
  ['memory_read', { query: 'Oslo' }],
  ['agent_lookup', { input: { customer: 'oslo' } }],
  'Nothing of Oslo is here.',
]

/** A clerk, the code it may call, which believes whatever it is told, and who sends clerks to customers. */
export function demoAgents() {
  const left = said.map((each, index) =>
    typeof each === 'string'
      ? { text: each, calls: [], usage: {} }
      : { text: '', calls: [{ id: `call_${index}`, name: each[0], args: each[1] }], usage: {} },
  )
  const model = { id: 'demo', turn: async () => left.shift() ?? { text: '', calls: [], usage: {} } }
  const branch = (customer: string) => ({ context: [`northlight/depot/${customer}`] })
  const lookup = defineAgent({
    id: 'lookup',
    kind: 'tool',
    run: ({ customer }: { customer: string }, run) => run.invoke('clerk', 'What is known here?', branch(customer)),
  })
  const resources = { memory: { mode: 'read-write' } } as const
  const clerk = defineAgent({ id: 'clerk', instruction: 'Work for one customer.', model, tools: [lookup], resources })
  const orchestrator = defineAgent({
    id: 'orchestrator',
    kind: 'tool',
    run: async (customers: string[], run) => {
      for (const customer of customers) await run.invoke('clerk', `Look after ${customer}.`, branch(customer))
      return customers.length
    },
  })
  return [orchestrator, clerk]
}

/** An orchestrator and two children, of which one tries to leave its branch; and what the exported file shows of it. */
export async function playRuns(io: Io, ambit: Runtime, caller: Caller, host: AmbitHost, pin: string): Promise<void> {
  const context = { ambit, caller, by: callerOf(caller), host: async () => host }
  const api = withRun(operable((path, operation, input) => performOperation(context, path, operation, input)))
  const run = await api.run('orchestrator', ['oslo', 'bergen'], { context: ['northlight/depot'] })
  for await (const { type, run_id, data } of run.events()) {
    const { agent_id, depth, grants } = await api.runs.show(run_id)
    const indent = '  '.repeat(depth + 1)
    if (type === 'run.started') line(io, `${indent}${agent_id}, granted ${grants.map(({ path }) => path).join(', ')}`)
    const { tool, status, error, output } = data as { [name: string]: { code?: string; entries?: unknown[] } | null }
    if (type !== 'tool.finished' || depth === 0) continue
    const why = error?.code ?? (output?.entries && counted(output.entries.length, 'entry', 'entries'))
    const verdict = paint(io, error ? 'red' : 'green', error ? 'REFUSED' : String(status).toUpperCase())
    line(io, `${indent}  ${String(tool).padEnd(14)} ${verdict} ${why ?? ''}`.trimEnd())
  }
  printProof(io, await api.evidence.export(run.id), pin)
}

/** What the bundle of the run says, to those who have nothing else: the calls under each branch. */
function printProof(io: Io, bundle: EvidenceBundle, pin: string): void {
  const ended = bundle.events.filter(({ event_type }) => /^execution_(completed|failed)$/.test(event_type))
  const branches = Map.groupBy(ended, ({ payload }) =>
    (payload as { decision: { run: { grants: string[] } } }).decision.run.grants.join(', '),
  )
  const { valid } = verifyBundle(bundle, { pins: [pin] })
  line(io, `  ${valid ? paint(io, 'green', 'GOOD') : paint(io, 'red', 'NOT GOOD')}  its exported file shows`)
  for (const [branch, events] of branches) {
    const refused = events.flatMap(({ error }) => (error ? [`refused: ${error.code}`] : []))
    line(io, `    ${[`${counted(events.length, 'call')} under ${branch}`, ...refused].join(', ')}`)
  }
}

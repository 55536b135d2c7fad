// A desk with agents, in a folder of its own: a configuration, manifests, people and their keys.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunRecord } from '../../src/model/run.ts'
import { administering, givenKey, givenShell, type Shell } from './harness.ts'
import { serving } from './serving.ts'

export interface AgentDesk {
  /** The administrator's shell. */
  readonly admin: Shell
  /** Somebody who may grant paths. */
  readonly gran: Shell
  /** Somebody who may not. */
  readonly dev: Shell
  /** The team lead who decides about refunds. */
  readonly ida: Shell
}

/** Told `call desk_refund {"cents":5}` its model makes that call, then says what came of it; told `wait` it never answers, anything else it says again. */
const config = `import { defineCapability, defineConfig } from 'ambit'
import { scriptedModel } from 'ambit/testing'

const refund = defineCapability(
  { id: 'desk.refund', version: '1.0.0', description: 'Pays back.', autonomy: { tier: 'approval_required' }, effects: ['money.move'] },
  () => ({ paid: true }),
)
export default defineConfig({
  tenant: 'acme',
  host: { port: 0 },
  capabilities: [refund],
  policies: [{
    name: 'refunds', version: '1', applies_to: ['desk.*'],
    rules: [{ id: 'ask', when: true, decision: 'requires_approval', approval: { roles: ['team_lead'] } }],
  }],
  agents: ['agents'],
  models: {
    default: scriptedModel(({ system, messages, signal }) => {
      const last = messages.at(-1)
      if (last.role === 'tool') return 'done\\nwith ' + last.name
      if (last.content === 'fail') return new Error('away')
      if (last.content === 'wait')
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
      const [, name, args] = /call (\\w+) (\\{.*\\})/s.exec(last.content) ?? []
      if (name !== undefined) return { calls: [{ name, args: JSON.parse(args) }] }
      const pads = (system.match(/origin="scratchpad"/g) ?? []).length
      return 'heard ' + last.content + ' after ' + (messages.length - 1) + ', with ' + pads + ' pads'
    }),
  },
})
`

const manifests = {
  'clerk.yaml': `id: clerk
version: 1.0.0
kind: llm
instruction: Do what you are told.
tools: [desk.refund, agent.helper]
contextWrite: true
resources:
  memory:
    mode: read-write
`,
  'helper.yaml': 'id: helper\nversion: 1.0.0\nkind: llm\ndescription: Helps.\ninstruction: Help.\n',
  'two-looks.yaml': `id: two-looks
version: 1.0.0
kind: sequential
steps:
  - id: first
    ref: helper
    input: 'look at {{input.customer}}'
    narrow: [desk]
  - id: second
    ref: helper
output: '{{second}}'
`,
}

export async function givenAgentDesk(): Promise<AgentDesk> {
  const shell = givenShell()
  writeFileSync(join(shell.cwd, 'ambit.config.ts'), config)
  mkdirSync(join(shell.cwd, 'agents'))
  for (const [name, text] of Object.entries(manifests)) writeFileSync(join(shell.cwd, 'agents', name), text)
  const admin = await administering(shell, 'acme', '--root', 'acme')
  const enrol = async (id: string, ...words: readonly string[]): Promise<Shell> => {
    await admin.good('principal', 'create', id, ...words)
    return admin.with({ env: { AMBIT_KEY: (await givenKey(admin, id)).secret } })
  }
  const [gran, dev, ida] = [await enrol('gran', '--role', 'grantor'), await enrol('dev'), await enrol('ida')]
  await admin.good('approver', 'add', 'ida', '--role', 'team_lead')
  return { admin, gran, dev, ida }
}

/** Both places of a command: the store here, and a host that is served, whose options come last. */
export const places = ['here', 'at a host'] as const

export async function inPlace(
  place: (typeof places)[number],
  { admin }: AgentDesk,
  work: (at: readonly string[]) => Promise<void>,
): Promise<void> {
  if (place === 'here') await work([])
  else await serving(admin, [], (url) => work(['--url', url]))
}

/** Runs the clerk, and answers the record of the run. */
export const runClerk = async (shell: Shell, input: string, ...words: readonly string[]): Promise<RunRecord> =>
  (await shell.run('run', 'clerk', '--input', input, '--json', ...words)).json<RunRecord>()

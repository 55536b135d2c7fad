// The cold store of the guide, in a folder of its own: its configuration, its people and their keys.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../support/source.ts'
import { administering, givenKey, givenShell, type Shell } from './harness.ts'

export interface Depot {
  /** The administrator's shell. */
  readonly shell: Shell
  /** Somebody without a key. */
  readonly anyone: Shell
  /** An agent that may release batches. */
  readonly planner: Shell
  /** The pharmacist who decides about them. */
  readonly ida: Shell
  /** Somebody whom nothing is asked. */
  readonly kai: Shell
  readonly keys: Readonly<Record<'planner' | 'ida' | 'kai', string>>
}

const example = join(projectRoot, 'examples/cold-store')

/** Writes what it is told into its memory. */
const clerk = `const clerk = defineAgent({
  id: 'clerk',
  instruction: 'You keep notes about the depot.',
  resources: { memory: { mode: 'read-write' } },
  model: {
    id: 'script',
    turn: async ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: 'Noted.', calls: [], usage: {} }
      return { text: '', calls: [{ id: '1', name: 'memory_write', args: { content: last?.content ?? '' } }], usage: {} }
    },
  },
})`

/** The example's files, as somebody who installed us would have them. */
export function writeDepot(folder: string): void {
  const config = readFileSync(join(example, 'ambit.config.ts'), 'utf8')
  const text = config
    .replace("defineConfig } from '../../src/index.ts'", "defineAgent, defineConfig } from 'ambit'")
    .replace('export default defineConfig({', `${clerk}\nexport default defineConfig({\n  agents: [clerk],`)
  writeFileSync(join(folder, 'ambit.config.ts'), text)
  mkdirSync(join(folder, 'policies'), { recursive: true })
  const policy = 'policies/quality-release.json'
  writeFileSync(join(folder, policy), readFileSync(join(example, policy)))
}

/** The depot before anybody is known in it: the shell of its administrator. */
export async function givenEmptyDepot(): Promise<Shell> {
  const shell = givenShell()
  writeDepot(shell.cwd)
  return administering(shell, 'northlight', '--root', 'northlight')
}

export async function givenDepot(): Promise<Depot> {
  const shell = await givenEmptyDepot()
  await shell.good('principal', 'create', 'planner', '--kind', 'agent', '--permission', 'stock:release')
  await shell.good('principal', 'create', 'ida')
  await shell.good('principal', 'create', 'kai')
  await shell.good('approver', 'add', 'ida', '--role', 'responsible_pharmacist')
  await shell.good('approver', 'add', 'kai', '--role', 'accountant')
  const [planner, ida, kai] = [
    (await givenKey(shell, 'planner')).secret,
    (await givenKey(shell, 'ida')).secret,
    (await givenKey(shell, 'kai')).secret,
  ]
  const as = (key: string): Shell => shell.with({ env: { AMBIT_KEY: key } })
  const anyone = shell.with({ env: {} })
  return { shell, anyone, planner: as(planner), ida: as(ida), kai: as(kai), keys: { planner, ida, kai } }
}

/** The words of one call: a batch that was this long too warm. */
export const release = (minutes: number, ...more: readonly string[]): string[] => [
  ...['call', 'depot.release_batch', '--purpose', 'shortage', '--correlation', 'run-5521'],
  ...[
    '--payload',
    JSON.stringify({ batch_id: 'B-204417', consignee: 'Clinic 88, Tromsø', excursion_minutes: minutes }),
  ],
  ...more,
]

// One store with agents from files, reached by every door: library, HTTP, and the command line here and at a host.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect } from '../../src/client/connect.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import type { RunRecord } from '../../src/model/run.ts'
import type { Ambit } from '../../src/operations/ambit.ts'
import type { AmbitConfig } from '../../src/runtime/settings/user-config.ts'
import { administering, givenShell, type Shell } from '../cli/harness.ts'
import { serving } from '../cli/serving.ts'

export interface Wish {
  readonly sessionId?: string
  readonly contextIds?: readonly string[]
  readonly context?: readonly string[]
}

/** Runs an agent to its end through one door. A refusal is thrown, as the error that this door knows. */
export type Door = (agent: string, input: string, wish?: Wish) => Promise<RunRecord>

export interface GivenDoors {
  readonly doors: Readonly<Record<'library' | 'HTTP' | 'CLI' | 'CLI at a host', Door>>
  readonly shell: Shell
  readonly ambit: Ambit
  readonly client: Ambit
  readonly url: string
}

interface Scene {
  /** Manifests by name. */
  readonly files: Readonly<Record<string, string>>
  /** The source of what their model does: a function from a request to the members of a turn that matter. */
  readonly turn: string
}

/** Calls `work` with all doors open. */
export async function throughDoors(scene: Scene, work: (given: GivenDoors) => Promise<void>): Promise<void> {
  const shell = await administering(withFiles(givenShell(), scene), 'local', '--root', 'acme')
  const key = shell.env['AMBIT_KEY'] ?? ''
  const { default: config } = (await import(pathToFileURL(join(shell.cwd, 'ambit.config.mjs')).href)) as {
    default: AmbitConfig
  }
  await serving(shell, [], async (url) => {
    const ambit = await createAmbit({ ...config, folder: join(shell.cwd, '.ambit') })
    const client = connect(url, key)
    const doors = {
      library: inCode(ambit),
      HTTP: inCode(client),
      CLI: inShell(shell),
      'CLI at a host': inShell(shell, url),
    }
    try {
      await work({ doors, shell, ambit, client, url })
    } finally {
      await ambit.close()
    }
  })
}

/** The shell, with a configuration in its folder that has these agents. */
export function withFiles(shell: Shell, { files, turn }: Scene): Shell {
  mkdirSync(join(shell.cwd, 'agents'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(shell.cwd, 'agents', name), text)
  const model = `{ id: 'script', turn: async (request) => ({ text: '', calls: [], usage: {}, ...(await (${turn})(request)) }) }`
  writeFileSync(
    join(shell.cwd, 'ambit.config.mjs'),
    `export default { agents: ['agents'], models: { default: ${model} } }\n`,
  )
  return shell
}

const inCode =
  (ambit: Ambit): Door =>
  async (agent, input, { sessionId, contextIds, context } = {}) => {
    const run = await ambit.run(agent, input, {
      ...(sessionId !== undefined && { sessionId }),
      ...(contextIds && { contextIds: [...contextIds] }),
      ...(context && { context: [...context] }),
    })
    return run.settled()
  }

const inShell =
  (shell: Shell, url?: string): Door =>
  async (agent, input, { sessionId, contextIds = [], context = [] } = {}) => {
    const words = [
      ...(sessionId === undefined ? [] : ['--session', sessionId]),
      ...contextIds.flatMap((id) => ['--context-id', id]),
      ...context.flatMap((path) => ['--grant', path]),
      ...(url === undefined ? [] : ['--url', url]),
    ]
    const ran = await shell.run('run', agent, '--input', input, ...words, '--json')
    if (ran.out === '') throw new Error(ran.err)
    return ran.json<RunRecord>()
  }

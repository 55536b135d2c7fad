// A command line in a folder of its own, run in this process: what it printed, and how it ended.

import assert from 'node:assert/strict'
import { commands } from '../../src/cli/commands.ts'
import { runCli } from '../../src/cli/run.ts'
import type { Io } from '../../src/cli/terminal/io.ts'
import { tempFolder } from './given.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
  /** What was printed, as the one JSON value it must be. */
  json<T = Readonly<Record<string, unknown>>>(): T
}

export interface Shell {
  readonly cwd: string
  readonly env: Io['env']
  /** Runs `ambit` with these words. */
  run(...argv: readonly string[]): Promise<Ran>
  /** As `run`, for what must go well. */
  good(...argv: readonly string[]): Promise<Ran>
  /** The same folder with other surroundings. */
  with(change: Partial<Around>): Shell
}

type Around = Omit<Io, 'out' | 'err'> & {
  /** Told of each piece of output as it comes. */
  readonly told?: (text: string) => void
}

/** A shell in a new folder, with nothing set and nothing piped in. */
export function givenShell(change: Partial<Around> = {}): Shell {
  const quiet = {
    env: {},
    color: false,
    stdin: async () => '',
    askHidden: async () => undefined,
    onSignal: () => () => undefined,
  }
  return shellIn({ ...quiet, cwd: tempFolder(), ...change })
}

/** As `givenShell`, with a tenant and a principal in it: the shell of its administrator. */
export async function givenDesk(): Promise<Shell> {
  const shell = await administering(givenShell(), 'local')
  await shell.good('principal', 'create', 'ida', '--role', 'approver')
  return shell
}

/** Makes a tenant: the same shell with the key of the new tenant's administrator. */
export async function administering(shell: Shell, tenant: string, ...words: readonly string[]): Promise<Shell> {
  const made = await shell.good('tenant', 'create', tenant, ...words, '--json')
  return shell.with({ env: { AMBIT_KEY: made.json<{ admin: { secret: string } }>().admin.secret } })
}

/** A new key of a principal. */
export async function givenKey(shell: Shell, ...words: readonly string[]): Promise<{ key_id: string; secret: string }> {
  return (await shell.good('key', 'create', ...words, '--json')).json()
}

function shellIn({ told, ...around }: Around): Shell {
  const run = async (...argv: readonly string[]): Promise<Ran> => {
    const printed = { out: [] as string[], err: [] as string[] }
    const code = await runCli(argv, {
      ...around,
      out: (text) => {
        printed.out.push(text)
        told?.(text)
      },
      err: (text) => void printed.err.push(text),
    })
    const out = printed.out.join('')
    return { code, out, err: printed.err.join(''), json: <T>() => JSON.parse(out) as T }
  }
  return {
    cwd: around.cwd,
    env: around.env,
    run,
    good: async (...argv) => {
      const ran = await run(...argv)
      assert.equal(ran.code, 0, `ambit ${argv.join(' ')}: ${ran.err}${ran.out}`)
      assert.equal(ran.err, '')
      return ran
    },
    with: (change) => shellIn({ ...around, ...change }),
  }
}

/** Every command line there is, without its arguments: `demo`, `tenant create`, … */
export const everyCommand = async (): Promise<readonly string[][]> =>
  (await Promise.all(Object.keys(commands).map((name) => commandsBelow([name])))).flat()

async function commandsBelow(words: readonly string[]): Promise<string[][]> {
  const { out } = await givenShell().run(...words, '--help')
  const [, listed = ''] = out.split('\nCommands:\n')
  const inner = [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, word = '']) => word)
  const below = inner.filter((word) => word !== 'help').map((word) => commandsBelow([...words, word]))
  return below.length === 0 ? [[...words]] : (await Promise.all(below)).flat()
}

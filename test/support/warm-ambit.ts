// `ambit` for the blocks of documents, which start it more than a hundred times.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from './source.ts'

export interface AmbitCommand {
  /** What a shell does to run `ambit` with the words that it was given. */
  readonly script: string
  stop(): void
}

const node = `exec "${process.execPath}"`
const alone = `${node} "${join(projectRoot, 'src/cli/main.ts')}" "$@"`

/** A process for each command line, as it is for users. */
export const coldAmbit: AmbitCommand = { script: alone, stop: () => undefined }

/**
 * One process for all command lines, which saves each of them half a second of its start. What serves others until it
 * gets a signal has a process of its own all the same.
 */
export async function startWarmAmbit(): Promise<AmbitCommand> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-warm-'))
  const path = join(folder, 'socket')
  const server = spawn(process.execPath, [join(import.meta.dirname, 'warm-server.ts'), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await Promise.race([once(server.stdout, 'data'), once(server, 'exit').then(() => assert.fail('it did not start'))])
  const warm = `${node} "${join(import.meta.dirname, 'warm-client.ts')}" "${path}" "$@"`
  return {
    script: `case "$1" in host | mcp) ${alone} ;; *) ${warm} ;; esac`,
    stop: () => {
      server.kill()
      rmSync(folder, { recursive: true })
    },
  }
}

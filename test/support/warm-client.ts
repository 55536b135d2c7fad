// One command line, run by `warm-server.ts`: its words, folder and surroundings go there, what it prints comes back.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

/** What the server answers, a line for each. */
export type Told =
  | { readonly out: string }
  | { readonly err: string }
  /** It wants what is on standard input, and is told it in base64. */
  | { readonly asks: 'stdin' }
  | { readonly code: number }

export interface Asked {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

const [, , path = '', ...argv] = process.argv
const link = connect(path)
const say = (what: unknown) => link.write(`${JSON.stringify(what)}\n`)

process.exitCode = 70
process.stdout.on('error', () => undefined)
say({ argv, cwd: process.cwd(), env: process.env } satisfies Asked)
createInterface({ input: link }).on('line', (line) => {
  const told = JSON.parse(line) as Told
  if ('out' in told) process.stdout.write(told.out)
  else if ('err' in told) process.stderr.write(told.err)
  else if ('asks' in told) say(readFileSync(0).toString('base64'))
  else process.exitCode = told.code
})

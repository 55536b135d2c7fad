// Runs the command lines that `warm-client.ts` brings, one after the other, each as in a process of its own: in its
// folder, with its environment, and with the user's modules as they are now. Ends with its standard input.

import { Console } from 'node:console'
import { registerHooks } from 'node:module'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { runCli } from '../../src/cli/run.ts'
import { textFrom } from '../../src/cli/terminal/real-io.ts'
import { projectRoot } from './source.ts'
import type { Asked, Told } from './warm-client.ts'

const [, , path = ''] = process.argv
process.stdin.resume().on('end', () => process.exit())

let turn = 0
const own = `${pathToFileURL(projectRoot)}/`
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (!found.url.startsWith('file:') || found.url.startsWith(own)) return found
    const url = new URL(found.url)
    url.searchParams.set('turn', String(turn))
    return { ...found, url: url.href }
  },
})

let last: Promise<void> = Promise.resolve()
createServer((link) => {
  last = last.then(() => serve(link))
}).listen(path, () => process.stdout.write('ready\n'))

async function serve(link: Socket): Promise<void> {
  // Whoever asked may be gone before the end: the command still ends its work in order.
  link.on('error', () => undefined)
  const lines = createInterface({ input: link })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  const tell = (told: Told) => void link.write(`${JSON.stringify(told)}\n`)
  const { argv, cwd, env } = JSON.parse(await next()) as Asked
  become(cwd, env)
  turn += 1
  const err = (text: string) => tell({ err: text })
  globalThis.console = new Console(new Writable({ write: (chunk, _, done) => done(void err(String(chunk))) }))
  const stdin = async (bytesMax?: number) => {
    tell({ asks: 'stdin' })
    return textFrom(Readable.from([Buffer.from(JSON.parse(await next()), 'base64')]), bytesMax)
  }
  const code = await runCli(argv, {
    ...{ cwd, env, err, stdin, color: false, terminal: env['AMBIT_OUTPUT'] === 'text' },
    out: (text) => tell({ out: text }),
    askHidden: async () => undefined,
    onSignal: () => () => undefined,
  })
  tell({ code })
  link.end()
  process.chdir(projectRoot)
}

function become(cwd: string, env: Asked['env']): void {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
}

import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { collect } from '../../runtime/collect.ts'
import type { Io, Signal } from './io.ts'

/** The terminal, or whatever the process was connected to. */
export const realIo = (): Io => ({
  out: writerTo(process.stdout),
  err: writerTo(process.stderr),
  env: process.env,
  cwd: process.cwd(),
  stdin: async (bytesMax) => (process.stdin.isTTY ? undefined : textFrom(process.stdin, bytesMax)),
  askHidden,
  color: process.stdout.isTTY === true && !process.env['NO_COLOR'],
  onSignal,
  live: process.stderr.isTTY === true,
  ...defined({ width: process.stdout.columns }),
  terminal: process.stdout.isTTY === true || process.env['AMBIT_OUTPUT'] === 'text',
})

/** All of a stream as text. What is not UTF-8 is refused: read with signs in its place, it would be another text. */
export async function textFrom(stream: AsyncIterable<Uint8Array>, bytesMax = limits.stdinBytesMax): Promise<string> {
  const tooLarge = () => new Failure('file.too_large', `more than ${bytesMax} bytes on standard input`)
  const bytes = await collect(stream, bytesMax, tooLarge)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Failure('file.invalid', 'what is on standard input is not UTF-8')
  }
}

/** A reader that has seen enough, as `head` has, closes the pipe: the command still ends its work in order. */
function writerTo(stream: NodeJS.WriteStream): (text: string) => void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  return (text) => void stream.write(text)
}

const signals: readonly Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

function onSignal(listener: (signal: Signal) => void): () => void {
  for (const signal of signals) process.on(signal, listener)
  return () => {
    for (const signal of signals) process.off(signal, listener)
  }
}

async function askHidden(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined
  const { isCancel, password } = await import('@clack/prompts')
  const answer = await password({ message: question })
  return isCancel(answer) ? undefined : answer
}

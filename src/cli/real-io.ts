import { text } from 'node:stream/consumers'
import type { Io } from './io.ts'

/** The terminal, or whatever the process was connected to. */
export const realIo = (): Io => ({
  out: writerTo(process.stdout),
  err: writerTo(process.stderr),
  env: process.env,
  cwd: process.cwd(),
  stdin: async () => (process.stdin.isTTY ? undefined : text(process.stdin)),
  askHidden,
  color: process.stdout.isTTY === true && !process.env['NO_COLOR'],
  live: process.stderr.isTTY === true,
})

/** A reader that has seen enough, as `head` has, closes the pipe: the command still ends its work in order. */
function writerTo(stream: NodeJS.WriteStream): (text: string) => void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  return (text) => void stream.write(text)
}

async function askHidden(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined
  const { isCancel, password } = await import('@clack/prompts')
  const answer = await password({ message: question })
  return isCancel(answer) ? undefined : answer
}

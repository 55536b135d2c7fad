// Processes that tests start, talk to and kill.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Target } from './target.ts'

export interface Child {
  /** Resolves once the process is ready to begin. */
  readonly ready: Promise<void>
  tell(line: string): void
  /** Every line it has said since it was ready. */
  readonly said: readonly string[]
  /** The next of them; fails when there is none any more. */
  next(): Promise<string>
  kill(): void
  /** Stops it, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Resolves when the process has ended and all it said was heard. */
  readonly ended: Promise<{ code: number | null; signal: string | null }>
}

const script = join(import.meta.dirname, 'child.ts')

/** The command line of a child, also for those who run it under another program. */
export const childCommand = (target: Target, task: string, name: string | number = ''): string[] => [
  process.execPath,
  script,
  JSON.stringify(target),
  task,
  String(name),
]

export function startChild([program = '', ...args]: readonly string[]): Child {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  // A process that has ended cannot be told anything.
  child.stdin.on('error', () => {})
  const said: string[] = []
  const lines = createInterface({ input: child.stdout })
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code, signal]]) => ({ code, signal }))
  const next = (): Promise<string> => {
    const line = once(lines, 'line').then(([text]) => String(text))
    return Promise.race([line, ended.then(({ code, signal }) => Promise.reject(new Error(`ended: ${code ?? signal}`)))])
  }
  const ready = next().then(() => {
    lines.on('line', (line) => said.push(line))
  })
  return {
    ready,
    tell: (line) => child.stdin.write(`${line}\n`),
    said,
    next,
    kill: () => child.kill('SIGKILL'),
    signal: (name) => child.kill(name),
    ended,
  }
}

/** Starts several processes on one task, lets `act` have them once all are ready, and ends what is left of them. */
export async function withChildren<T>(
  target: Target,
  task: string,
  act: (children: readonly Child[]) => Promise<T>,
): Promise<T> {
  const children = [0, 1, 2, 3].map((name) => startChild(childCommand(target, task, name)))
  try {
    await Promise.all(children.map((child) => child.ready))
    return await act(children)
  } finally {
    for (const child of children) child.kill()
    await Promise.all(children.map((child) => child.ended))
  }
}

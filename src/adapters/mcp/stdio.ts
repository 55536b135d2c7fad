import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { lineCutter } from '../../base/lines.ts'
import { isObject } from '../../base/object.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { within } from '../../gateway/within.ts'
import { type ClosableTransport, flood, NotSent, openFloodGate } from './transport.ts'

/** A program as it is started: all secrets are in their places. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

type Child = ChildProcessByStdio<Writable, Readable, null>

/**
 * Speaks with a program over its standard streams. Its error stream is not read, because it may hold secrets. A program
 * that writes lines without an end, floods us or does not read our answers is killed. Calls that it does not read are
 * refused before they pile up: it may only be busy with one of them.
 */
export function stdioTransport(program: Program): ClosableTransport {
  let child: Child | undefined
  let why: string | undefined
  let isClosed = false
  let draining: Promise<boolean> | undefined
  // The ids of what waits until the program reads.
  const waiting = new Set<unknown>()
  const linesIn = lineCutter(limits.mcpMessageBytesMax)
  const gate = openFloodGate()

  const cutOff = (reason: string) => {
    why ??= reason
    child?.stdout.destroy()
    signalGroup(child?.pid, 'SIGKILL')
  }
  const read = (chunk: Buffer) => {
    if (!gate.admitsBytes(chunk.length)) return cutOff(flood)
    let lines: readonly string[]
    try {
      lines = linesIn(chunk)
    } catch {
      return cutOff('it wrote a line that is too long')
    }
    for (const message of lines.map(messageIn)) {
      // Some programs write a log there, which is no message and may be long.
      if (!(message === undefined ? gate.admitsLine() : gate.admits(message))) return cutOff(flood)
      if (message !== undefined) deliver(message)
    }
  }
  const deliver = (message: JSONRPCMessage) => {
    try {
      transport.onmessage?.(message)
    } catch {
      // A message that its reader cannot take answers nothing.
    }
  }
  const transport: ClosableTransport & { stderr: null; pid: number | null } = {
    // By these two the client knows that it speaks with a program.
    stderr: null,
    get pid() {
      return child?.pid ?? null
    },
    get why() {
      return why
    },
    start: async () => {
      child = start(program)
      const { promise: spawned, resolve, reject } = Promise.withResolvers<void>()
      child.once('spawn', resolve).on('error', (error: NodeJS.ErrnoException) => {
        why ??= `${quote(program.command)} could not be started (${error.code ?? 'unknown'})`
        reject(error)
      })
      await spawned
      endWithUs(child)
      // When it was closed while it started, there was nothing to end yet.
      if (isClosed) await end(child)
      if (isClosed) throw new NotSent()
      child.stdout.on('data', read).on('error', () => undefined)
      child.once('close', (code, signal) => {
        if (!isClosed) why ??= `it ended with ${signal ?? `code ${code}`}`
        transport.onclose?.()
      })
    },
    send: async (message) => {
      const stdin = child?.stdin
      const id = 'id' in message ? message.id : Symbol('notification')
      // The program never hears of a call that is cancelled while it waits.
      if (waiting.delete(cancelledBy(message))) return
      while (stdin?.writable && stdin.writableLength > limits.mcpUnsentBytesMax) {
        if (!('method' in message)) return cutOff('it does not read what it is sent')
        draining ??= drains(stdin).finally(() => {
          draining = undefined
        })
        waiting.add(id)
        const isRead = await draining
        if (!waiting.delete(id) || !isRead)
          throw new CallEnded('unavailable', 'the server does not read what it is sent', { effect: 'none' })
      }
      if (!stdin?.writable) throw new NotSent()
      gate.sent(message)
      stdin.write(`${JSON.stringify(message)}\n`)
    },
    close: async () => {
      isClosed = true
      if (child) await end(child)
    },
  }
  return transport
}

function start({ command, args, env, cwd }: Program): Child {
  // The leader of a process group of its own, so that what it starts ends with it.
  const options = { cwd, env: { ...env }, detached: true, windowsHide: true } as const
  const child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'ignore'] })
  // Broken when the program is gone, which its end reports.
  child.stdin.on('error', () => undefined)
  child.once('exit', () => {
    // Another process may keep its stream open.
    const timer = setTimeout(() => child.stdout.destroy(), limits.mcpGraceMs)
    child.once('close', () => clearTimeout(timer))
  })
  return child
}

/** The id of the request that a message cancels. */
const cancelledBy = (message: JSONRPCMessage): unknown =>
  'method' in message && message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined

/** False if the program does not read all that waits for it. */
async function drains(stdin: Writable): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const drained = (): void => resolve(true)
  stdin.once('drain', drained)
  return within(promise, limits.mcpGraceMs, () => false).finally(() => stdin.off('drain', drained))
}

/** Asks the program to end by the end of its input, then by a signal, then kills it. */
async function end(child: Child): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const { promise: exited, resolve } = Promise.withResolvers<boolean>()
  child.once('exit', () => resolve(true))
  child.stdin.end()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (await within(exited, limits.mcpGraceMs, () => false)) return
    signalGroup(child.pid, signal)
  }
  await exited
}

/** Lines that are no messages are left out: some programs write greetings. The client checks the rest of a message. */
function messageIn(line: string): JSONRPCMessage | undefined {
  // To find out by parsing is slow where a program floods us with lines.
  if (!/^\s*\{/.test(line)) return undefined
  try {
    const message: unknown = JSON.parse(line)
    const isMessage = isObject(message) && ('method' in message || 'result' in message || 'error' in message)
    return isMessage ? (message as unknown as JSONRPCMessage) : undefined
  } catch {
    return undefined
  }
}

const running = new Set<number>()

/** Ends the program's group with us, however we end, except by a signal that no process can handle. */
function endWithUs(child: Child): void {
  const { pid } = child
  if (pid === undefined) return
  if (running.size === 0) watch('on')
  running.add(pid)
  child.once('exit', () => {
    // No call needs the processes that it left behind.
    signalGroup(pid, 'SIGKILL')
    running.delete(pid)
    if (running.size === 0) watch('off')
  })
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // Nothing is left to signal.
  }
}

function watch(change: 'on' | 'off'): void {
  process[change]('exit', killAll)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process[change](signal, onSignal)
}

function killAll(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL')
}

/** Where others listen too, they end us in their own time; where only we do, the signal does what it would have done. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  killAll()
  watch('off')
  process.kill(process.pid, signal)
}

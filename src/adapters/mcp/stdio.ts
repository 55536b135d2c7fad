import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { lineCutter } from '../../base/lines.ts'
import { isObject } from '../../base/object.ts'
import { CallEnded } from '../../gateway/ended.ts'
import { within } from '../../gateway/within.ts'
import { flood, openFloodGate } from './flood-gate.ts'
import { type ClosableTransport, NotSent } from './transport.ts'

/** A program as it is started: all secrets are in their places. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

/**
 * Speaks with a program over its standard streams. What it writes to its error stream is not read: it may hold secrets.
 * Whoever writes lines without an end, floods us or does not read our answers is cut off; calls that it does not read are
 * refused before they pile up, for it may only be busy with one of them.
 */
export function stdioTransport(program: Program): ClosableTransport {
  let child: ChildProcess | undefined
  let why: string | undefined
  let isClosed = false
  let draining: Promise<boolean> | undefined
  // The ids of what waits until the program reads.
  const waiting = new Set<unknown>()
  const linesIn = lineCutter(limits.mcpMessageBytesMax)
  const gate = openFloodGate()

  const cutOff = (reason: string) => {
    why ??= reason
    child?.stdout?.destroy()
    if (child?.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
  }
  const take = (chunk: Buffer) => {
    if (!gate.admitsBytes(chunk.length)) return cutOff(flood)
    let lines: readonly string[]
    try {
      lines = linesIn(chunk)
    } catch {
      return cutOff('it wrote a line that is too long')
    }
    for (const line of lines) {
      const message = messageIn(line)
      // Some write a log there: that is no message, and may be long.
      if (!(message === undefined ? gate.admitsLine() : gate.admits(message))) return cutOff(flood)
      if (message !== undefined) deliver(transport, message)
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
      child = await started(program, (reason) => {
        why ??= reason
      })
      // Whoever closed it while it started found nothing to end.
      if (isClosed) await end(child)
      if (isClosed) throw new NotSent()
      child.stdout?.on('data', take).on('error', () => undefined)
      whenOver(child, (code) => {
        if (!isClosed) why ??= `it ended with ${code}`
        transport.onclose?.()
      })
    },
    send: async (message) => {
      const stdin = child?.stdin
      const id = 'id' in message ? message.id : Symbol('notification')
      // Of a call that waits the program never hears.
      if (waiting.delete(takenBackBy(message))) return
      while (stdin?.writable && isFull(stdin)) {
        if (!('method' in message)) return cutOff('it does not read what it is sent')
        draining ??= drains(stdin).finally(() => {
          draining = undefined
        })
        waiting.add(id)
        const isRead = await draining
        if (!waiting.delete(id) || !isRead) throw unread()
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

async function started({ command, args, env, cwd }: Program, tell: (why: string) => void): Promise<ChildProcess> {
  const stdio = ['pipe', 'pipe', 'ignore'] as const
  const child = spawn(command, args, { cwd, env: { ...env }, stdio: [...stdio], detached: true, windowsHide: true })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('spawn', resolve)
  child.on('error', (error: NodeJS.ErrnoException) => {
    tell(`${quote(command)} could not be started (${error.code ?? 'unknown'})`)
    reject(error)
  })
  // Broken when the program is gone, which is told by its end.
  child.stdin?.on('error', () => undefined)
  await promise
  endWithUs(child)
  return child
}

/** The id of the request that a message takes back. */
const takenBackBy = (message: JSONRPCMessage): unknown =>
  'method' in message && message.method === 'notifications/cancelled' ? message.params?.['requestId'] : undefined

const isFull = (stdin: Writable): boolean => stdin.writableLength > limits.mcpUnsentBytesMax

/** False if the program does not read all that waits for it. */
async function drains(stdin: Writable): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const drained = (): void => resolve(true)
  stdin.once('drain', drained)
  try {
    return await within(promise, limits.mcpGraceMs, () => false)
  } finally {
    stdin.off('drain', drained)
  }
}

const unread = (): CallEnded =>
  new CallEnded('unavailable', 'the server does not read what it is sent', { effect: 'none' })

/** Calls back once the program has ended and all it wrote before has been read, or someone else keeps its stream. */
function whenOver(child: ChildProcess, over: (code: string) => void): void {
  child.once('exit', (code, signal) => {
    const told = signal ?? `code ${code}`
    const done = (): void => {
      clearTimeout(timer)
      child.stdout?.off('close', done)
      child.stdout?.destroy()
      over(told)
    }
    const timer = setTimeout(done, limits.mcpGraceMs)
    if (child.stdout?.closed) done()
    else child.stdout?.on('close', done)
  })
}

/** Asks the program to end by the end of its input, then by a signal, then does it. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const { promise: exited, resolve } = Promise.withResolvers<boolean>()
  child.once('exit', () => resolve(true))
  child.stdin?.end()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (await within(exited, limits.mcpGraceMs, () => false)) return
    signalGroup(child.pid, signal)
  }
  await exited
}

/** Lines that are no messages are left out: some programs write greetings. Whether it is a whole one, its reader finds out. */
function messageIn(line: string): JSONRPCMessage | undefined {
  try {
    const message: unknown = JSON.parse(line)
    const isMessage = isObject(message) && ('method' in message || 'result' in message || 'error' in message)
    return isMessage ? (message as unknown as JSONRPCMessage) : undefined
  } catch {
    return undefined
  }
}

function deliver(transport: Transport, message: JSONRPCMessage): void {
  try {
    transport.onmessage?.(message)
  } catch {
    // A message that its reader chokes on is no answer to anything.
  }
}

// Every program we started is the leader of a group of its own, so that what it started ends with it.
const running = new Set<number>()

/** Ends the program with us: however we end, except by a signal that nobody can handle, its group is killed. */
function endWithUs(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined) return
  if (running.size === 0) watch()
  running.add(pid)
  child.once('exit', () => {
    // What it left behind has lost the one it worked for.
    signalGroup(pid, 'SIGKILL')
    running.delete(pid)
    if (running.size === 0) unwatch()
  })
}

/** True if there was something to signal. */
function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

const deadly = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function watch(): void {
  process.on('exit', killAll)
  for (const signal of deadly) process.on(signal, onSignal)
}

function unwatch(): void {
  process.off('exit', killAll)
  for (const signal of deadly) process.off(signal, onSignal)
}

function killAll(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL')
}

/** Where others listen too, they end us in their own time; where only we do, the signal does what it would have done. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  killAll()
  unwatch()
  process.kill(process.pid, signal)
}

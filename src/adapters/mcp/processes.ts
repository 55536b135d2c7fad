import type { ChildProcess } from 'node:child_process'

// Every program we started is the leader of a group of its own, so that what it started ends with it.
const running = new Set<number>()

/** Ends the program with us: however we end, except by a signal that nobody can handle, its group is killed. */
export function endWithUs(child: ChildProcess): void {
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
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
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

import { Failure, problem } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { formatTime } from '../../base/time.ts'
import type { Readiness } from '../../runtime/hosting/readiness.ts'
import { systemClock } from '../../runtime/system.ts'
import type { ServerDeps } from '../../server/app.ts'
import { rateLimit } from '../../server/rate-limits.ts'
import { type Io, plain } from '../terminal/io.ts'

/** Writes what happened to a host. Facts are never what a caller sends or gets, and never a secret. */
export type Log = (level: 'info' | 'warn' | 'error', event: string, facts?: Readonly<Record<string, unknown>>) => void

/**
 * Runs a host that writes a log on standard error, one JSON object a line. What was meant for people there becomes a
 * `notice`. The last line is `stop`, or `start_refused` if it never started.
 */
export async function withLog(io: Io, work: (io: Io, log: Log) => Promise<void>): Promise<void> {
  let last = 'start_refused'
  const log: Log = (level, event, facts) => {
    if (event === 'start') last = 'stop'
    io.err(`${JSON.stringify({ time: formatTime(systemClock.now()), level, event, ...facts })}\n`)
  }
  try {
    await work({ ...io, err: (text) => log('warn', 'notice', { message: text.trimEnd() }) }, log)
    log('info', last)
  } catch (error) {
    const { code, detail } = problem(error)
    log('error', last, { code, message: plain(detail) })
    throw error
  }
}

/** Logs errors by code and place, of one code once a second: of others only the kind, as a message may hold what was sent. */
export function loggingErrors(log: Log): NonNullable<ServerDeps['onError']> {
  const mayLog = rateLimit(systemClock, 1, limits.rateCallersMax)
  return (error, place) => {
    const { code } = problem(error)
    // Asking about a running call is answered with "ask later": that is no fault.
    if (code === 'call_in_progress' || !mayLog(code)) return
    const kind = error instanceof Failure ? undefined : error instanceof Error ? error.constructor.name : typeof error
    log('error', 'error', { code, kind, route: place?.route, trace_id: place?.traceId })
  }
}

/** Logs when the store goes away and when it is back, until what it answers is called. */
export function loggingStore(log: Log, ready: Readiness): () => void {
  let away: number | undefined
  const timer = setInterval(async () => {
    const error = await ready()
    const now = systemClock.now()
    if (error !== undefined && away === undefined) log('error', 'store_away', { code: problem(error).code })
    if (error === undefined && away !== undefined) log('info', 'store_back', { away_ms: now - away })
    away = error === undefined ? undefined : (away ?? now)
  }, limits.readyMs).unref()
  return () => clearInterval(timer)
}

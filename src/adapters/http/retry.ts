import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'
import { CallEnded } from '../../gateway/ended.ts'
import type { CapabilityDescriptor } from '../../model/capability.ts'
import { transportCodes } from '../egress/egress.ts'

/** How often and for what something is tried again; once is enough where repeating could do it twice. */
export interface Attempts {
  readonly max: number
  readonly backoffMs: number
  readonly on: ReadonlySet<string>
}

export function attemptsOf({ retry, idempotency }: CapabilityDescriptor, isSafe: boolean): Attempts {
  const may = isSafe || idempotency === 'required'
  return {
    max: may ? Math.min(retry?.max_attempts ?? 1, limits.attemptsMax) : 1,
    backoffMs: Math.min((retry?.backoff_s ?? limits.backoffMs / 1000) * 1000, limits.backoffMaxMs),
    on: new Set(retry?.retry_on ?? [...transportCodes, 'http_429', 'http_502', 'http_503', 'http_504']),
  }
}

/**
 * Does the work, and again while that is declared and `mayGoOn`. If one attempt may have had an effect, no later one
 * can say that there was none.
 */
export async function tryAgain<T>(
  work: () => Promise<T>,
  { max, backoffMs, on }: Attempts,
  { signal, mayGoOn }: { readonly signal: AbortSignal; readonly mayGoOn: () => boolean },
): Promise<T> {
  let isDoubtful = false
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const { code, message, retryAfterS = 0 } = error as { code?: string; message: string; retryAfterS?: number }
      const waitMs = Math.max(backoffMs * 2 ** (attempt - 1), retryAfterS * 1000)
      const isLast =
        attempt >= max || !on.has(code ?? '') || signal.aborted || waitMs > limits.backoffMaxMs || !mayGoOn()
      if (isLast && isDoubtful) throw new CallEnded(code ?? 'failed', message, { effect: 'unknown' })
      if (isLast) throw error
      isDoubtful ||= !(error instanceof CallEnded) || error.effect !== 'none'
      // Who stops waiting is answered by the next attempt, which then sends nothing.
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

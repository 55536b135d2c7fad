import type { ApprovalRequest } from '../../model/approval.ts'
import { approvalRecords } from '../../storage/tables/approvals.ts'
import type { GatewayDeps } from '../deps.ts'
import { privateOf } from './request.ts'

export interface WaitOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface Waiting {
  /** Wakes those who wait for this request. */
  told(approvalId: string): void
  /**
   * The request once people have decided, or it is over; the one that took its place if it was edited. Still pending
   * when the time is up or the gateway closes; rejects with the reason of the signal.
   */
  wait(approvalId: string, options?: WaitOptions): Promise<ApprovalRequest>
  close(): void
}

interface Waiter {
  id: string
  /** Something happened since it last looked. */
  woken: boolean
  wake: () => void
}

// Decisions of this process are told at once; those of others are seen at the next look.
const lookMs = 250

export function openWaiting({ store, tenant }: GatewayDeps): Waiting {
  const waiters = new Set<Waiter>()
  let closed = false
  const wake = (waiter: Waiter): void => {
    waiter.woken = true
    waiter.wake()
  }
  const settled = async (waiter: Waiter, { signal, timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions) => {
    for (let left = timeoutMs; ; ) {
      signal?.throwIfAborted()
      waiter.woken = false
      const stored = await store.read(() => approvalRecords.get(tenant, waiter.id))
      const { replaced_by } = privateOf(stored)
      if (replaced_by !== undefined) waiter.id = replaced_by
      else if (stored.request.state !== 'pending' || left <= 0 || closed) return stored.request
      else if (!waiter.woken) left -= await pause(waiter, Math.min(lookMs, left), signal)
    }
  }
  return {
    told: (id) => {
      for (const waiter of waiters) if (waiter.id === id) wake(waiter)
    },
    wait: async (id, options = {}) => {
      const waiter: Waiter = { id, woken: false, wake: () => undefined }
      waiters.add(waiter)
      try {
        return await settled(waiter, options)
      } finally {
        waiters.delete(waiter)
      }
    },
    close: () => {
      closed = true
      for (const waiter of waiters) wake(waiter)
    },
  }
}

/** Waits until it is woken, its signal falls or the time is up; answers how much of the time was used. */
function pause(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<number> {
  return new Promise((resolve) => {
    const end = (used: number) => (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', waiter.wake)
      resolve(used)
    }
    const timer = setTimeout(end(ms), ms)
    waiter.wake = end(0)
    signal?.addEventListener('abort', waiter.wake, { once: true })
  })
}

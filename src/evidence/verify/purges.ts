import { createHash, type Hash } from 'node:crypto'
import type { PurgedEvent, SealedEvent } from '../../model/evidence.ts'
import { rootHash } from '../event.ts'

/** What an `evidence_purged` event says of the leaves that were kept: one digest over all of them, in order. */
export const leavesDigest = (leaves: readonly string[]): string => `sha256:${rootHash(leaves)}`

/** Holds the leaves of purged events against the events that say that they were purged. */
export interface Purges {
  saw(leaf: PurgedEvent): void
  /** Takes an `evidence_purged` event, which comes after the leaves it is about. */
  account(event: SealedEvent): string | undefined
  /** Purges that no event has accounted for. */
  open(): readonly string[]
}

export function openPurges(): Purges {
  const seen = new Map<string, Hash>()
  return {
    saw: ({ purgeId, leafHash }) => {
      const digest = seen.get(purgeId) ?? createHash('sha256')
      seen.set(purgeId, digest.update(`${leafHash}\n`))
    },
    account: ({ invocationId, body }) => {
      const digest = seen.get(invocationId) ?? createHash('sha256')
      seen.delete(invocationId)
      const { payload } = JSON.parse(body) as { readonly payload: { readonly leaves?: unknown } }
      return payload.leaves === `sha256:${digest.digest('hex')}` ? undefined : 'what was purged is not what it says'
    },
    open: () => [...seen.keys()],
  }
}

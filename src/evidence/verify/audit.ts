import { createHash, type Hash } from 'node:crypto'
import {
  callRecord,
  type ForeignEvent,
  foreignEvent,
  type PurgedEvent,
  type SealedEvent,
} from '../../model/evidence.ts'
import { rootHash } from '../event.ts'
import { grown } from '../log.ts'
import { checkHash } from './check-events.ts'
import { recordOf, uncoveredMember } from './coverage.ts'
import { Findings } from './findings.ts'
import { predicateOf } from './shape.ts'

/** Follows a host's whole store in sequence order, event by event. */
export interface Auditor {
  /** Takes the next stored event, or what is left of it, and answers what is wrong with it, or undefined. */
  take(stored: SealedEvent | PurgedEvent): string | undefined
  /** The purges of which leaves were seen, and no event that accounts for them. */
  unaccounted(): readonly string[]
  /** The log over everything taken so far, as text. */
  log(): string
}

const isEvent = predicateOf(foreignEvent)

export function makeAuditor(hostId: string): Auditor {
  const tails = new Map<string, string>()
  const purges = openPurges()
  let sequence = 0
  let log = ''
  return {
    log: () => log,
    unaccounted: purges.open,
    take: (stored) => {
      sequence++
      if (stored.sequence !== sequence) return `event ${sequence} is missing`
      log = grown(log, [stored])
      if ('leafHash' in stored) return void purges.saw(stored)
      const { correlationId, contentHash } = stored
      const problem = problemOf(stored, hostId, tails.get(correlationId) ?? null)
      tails.set(correlationId, contentHash)
      return problem ?? (stored.eventType === 'evidence_purged' ? purges.account(stored) : undefined)
    },
  }
}

function problemOf(stored: SealedEvent, hostId: string, tail: string | null): string | undefined {
  const event = parsed(stored.body)
  if (event === undefined) return 'it is not an event'
  if (event.host_id !== hostId) return 'it is of another host'
  if (!columnsAgree(stored, event)) return 'the store lists it under other words than it says'
  if ((event.prev_hash ?? null) !== tail) return 'it does not follow the last event of its correlation'
  const findings = new Findings()
  checkHash(event, 0, findings)
  return findings.first()?.message ?? recordProblem(event)
}

function recordProblem(event: ForeignEvent): string | undefined {
  const record = callRecord.safeParse(recordOf(event))
  if (!record.success) return 'its call record is not well formed'
  const member = uncoveredMember(event, record.data)
  return member && `\`${member}\` is not what its call record says`
}

function parsed(body: string): ForeignEvent | undefined {
  try {
    const value: unknown = JSON.parse(body)
    return isEvent(value) ? value : undefined
  } catch {
    return undefined
  }
}

const columnsAgree = (stored: SealedEvent, event: ForeignEvent): boolean =>
  stored.sequence === event.sequence &&
  stored.eventId === event.event_id &&
  stored.eventType === event.event_type &&
  stored.invocationId === event.invocation_id &&
  stored.capabilityId === event.capability_id &&
  stored.correlationId === event.correlation.correlation_id &&
  stored.timestamp === event.timestamp &&
  stored.outcome === (event.outcome ?? null) &&
  stored.subjectId === (event.subject?.['id'] ?? null) &&
  stored.contentHash === event.content_hash

/** What an `evidence_purged` event says of the leaves that were kept: one digest over all of them, in order. */
export const leavesDigest = (leaves: readonly string[]): string => `sha256:${rootHash(leaves)}`

/** Holds the leaves of purged events against the events that say that they were purged. */
interface Purges {
  saw(leaf: PurgedEvent): void
  /** Takes an `evidence_purged` event, which comes after the leaves it is about. */
  account(event: SealedEvent): string | undefined
  /** Purges that no event has accounted for. */
  open(): readonly string[]
}

function openPurges(): Purges {
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

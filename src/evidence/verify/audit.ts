import { createHash, type Hash } from 'node:crypto'
import type { ForeignEvent, PurgedEvent, SealedEvent } from '../../model/evidence.ts'
import { callRecord, foreignEvent } from '../../model/evidence.ts'
import { rootHash } from '../event.ts'
import { appendLeaf, leafOf } from '../log.ts'
import { checkHash } from './check-events.ts'
import { recordOf, uncoveredMember } from './coverage.ts'
import { bundleMeanings, Findings } from './findings.ts'
import { predicateOf } from './shape.ts'

/** Follows a host's whole store in sequence order, event by event. */
export class Auditor {
  readonly #hostId: string
  readonly #tails = new Map<string, string>()
  /** The leaves of purges that no event has accounted for. */
  readonly #purges = new Map<string, Hash>()
  #sequence = 0
  #log = ''

  constructor(hostId: string) {
    this.#hostId = hostId
  }

  /** Takes the next stored event, or what is left of it, and answers what is wrong with it, or undefined. */
  take(stored: SealedEvent | PurgedEvent): string | undefined {
    this.#sequence++
    if (stored.sequence !== this.#sequence) return `event ${this.#sequence} is missing`
    this.#log = appendLeaf(this.#log, leafOf(stored))
    if ('leafHash' in stored) {
      this.#purges.set(stored.purgeId, this.#leavesOf(stored.purgeId).update(`${stored.leafHash}\n`))
      return undefined
    }
    const { correlationId, contentHash } = stored
    const problem = problemOf(stored, this.#hostId, this.#tails.get(correlationId) ?? null)
    this.#tails.set(correlationId, contentHash)
    return problem ?? (stored.eventType === 'evidence_purged' ? this.#account(stored) : undefined)
  }

  /** The purges of which leaves were seen, and no event that accounts for them. */
  get unaccounted(): readonly string[] {
    return [...this.#purges.keys()]
  }

  /** The log over everything taken so far, as text. */
  get log(): string {
    return this.#log
  }

  /** An `evidence_purged` event comes after the leaves it is about. */
  #account({ invocationId, body }: SealedEvent): string | undefined {
    const leaves = `sha256:${this.#leavesOf(invocationId).digest('hex')}`
    this.#purges.delete(invocationId)
    const { payload } = JSON.parse(body) as { readonly payload: { readonly leaves?: unknown } }
    return payload.leaves === leaves ? undefined : 'what was purged is not what it says'
  }

  #leavesOf(purgeId: string): Hash {
    return this.#purges.get(purgeId) ?? createHash('sha256')
  }
}

/** What an `evidence_purged` event says of the leaves that were kept: one digest over all of them, in order. */
export const leavesDigest = (leaves: readonly string[]): string => `sha256:${rootHash(leaves)}`

function problemOf(stored: SealedEvent, hostId: string, tail: string | null): string | undefined {
  const event = parsed(stored.body)
  if (event === undefined) return 'it is not an event'
  if (event.host_id !== hostId) return 'it is of another host'
  if (!columnsAgree(stored, event)) return 'the store lists it under other words than it says'
  if ((event.prev_hash ?? null) !== tail) return 'it does not follow the last event of its correlation'
  const findings = new Findings(bundleMeanings)
  checkHash(event, 0, findings)
  return findings.first?.message ?? recordProblem(event)
}

function recordProblem(event: ForeignEvent): string | undefined {
  const record = callRecord.safeParse(recordOf(event))
  if (!record.success) return 'its call record is not well formed'
  const member = uncoveredMember(event, record.data)
  return member && `\`${member}\` is not what its call record says`
}

const isEvent = predicateOf(foreignEvent)

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

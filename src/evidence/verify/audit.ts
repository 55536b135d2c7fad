import {
  callRecord,
  type ForeignEvent,
  foreignEvent,
  type PurgedEvent,
  type SealedEvent,
} from '../../model/evidence.ts'
import { grown } from '../log.ts'
import { checkHash } from './check-events.ts'
import { recordOf, uncoveredMember } from './coverage.ts'
import { Findings } from './findings.ts'
import { openPurges } from './purges.ts'
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

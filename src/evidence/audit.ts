import { callRecord, type ForeignEvent, foreignEvent, type SealedEvent } from '../model/evidence.ts'
import { checkHash } from './check-events.ts'
import { recordOf, uncoveredMember } from './coverage.ts'
import { Findings } from './findings.ts'
import { grown } from './log.ts'
import { predicateOf } from './shape.ts'

/** Follows a host's whole store in sequence order, event by event. */
export interface Auditor {
  /** Takes the next stored event and answers what is wrong with it, or undefined. */
  take(stored: SealedEvent): string | undefined
  /** The log over everything taken so far, as text. */
  log(): string
}

const isEvent = predicateOf(foreignEvent)

export function makeAuditor(hostId: string): Auditor {
  const tails = new Map<string, string>()
  let sequence = 0
  let log = ''
  return {
    log: () => log,
    take: (stored) => {
      sequence++
      if (stored.sequence !== sequence) return `event ${sequence} is missing`
      const { correlationId, contentHash } = stored
      const problem = problemOf(stored, hostId, tails.get(correlationId) ?? null)
      tails.set(correlationId, contentHash)
      log = grown(log, [stored])
      return problem
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

import type { ForeignEvent } from '../model/evidence.ts'

/** One event as people ask about it. Only as true as the report it stands in says. */
export interface StoryLine {
  readonly sequence: number | null
  readonly timestamp: string
  readonly event_type: string
  readonly capability_id: string
  readonly invocation_id: string
  readonly subject: string | null
  readonly actor: string | null
  readonly outcome: string | null
  /** The code of a denial or the type of an error. */
  readonly reason: string | null
}

/** Who did what, and how it ended, event by event. */
export const storyOf = (events: readonly ForeignEvent[]): StoryLine[] =>
  events.map((event) => ({
    sequence: event.sequence ?? null,
    timestamp: event.timestamp,
    event_type: event.event_type,
    capability_id: event.capability_id,
    invocation_id: event.invocation_id,
    subject: textIn(event.subject, 'id'),
    actor: textIn(memberOf(event.payload['decision'], 'actor'), 'id'),
    outcome: event.outcome ?? null,
    reason: textIn(event.denial, 'code') ?? textIn(event.error, 'type'),
  }))

function textIn(value: unknown, name: string): string | null {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : null
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

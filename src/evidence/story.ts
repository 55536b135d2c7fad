import type { ForeignEvent } from '../model/evidence.ts'
import { standsIn } from './event.ts'
import type { Coverage } from './verify/check-events.ts'

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
  /** Whether the hashes cover sequence, subject, actor and reason; never in a bundle that is not valid. */
  readonly covered: boolean
}

/** Who did what, and how it ended, event by event. Of a withheld event only what is hashed. */
export function storyOf(events: readonly ForeignEvent[], { lines }: Coverage, sound: boolean): StoryLine[] {
  return events.map((event, index) => ({
    ...(standsIn(event.payload) ? nobody : attributed(event)),
    timestamp: event.timestamp,
    event_type: event.event_type,
    capability_id: event.capability_id,
    invocation_id: event.invocation_id,
    outcome: event.outcome ?? null,
    covered: sound && lines[index] === true,
  }))
}

const nobody = { sequence: null, subject: null, actor: null, reason: null } as const

const attributed = (event: ForeignEvent): Pick<StoryLine, keyof typeof nobody> => ({
  sequence: event.sequence ?? null,
  subject: textIn(event.subject, 'id'),
  actor: textIn(memberOf(event.payload['decision'], 'actor'), 'id'),
  reason: textIn(event.denial, 'code') ?? textIn(event.error, 'type'),
})

function textIn(value: unknown, name: string): string | null {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : null
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

import { formatTime } from '../base/time.ts'
import { type Marks, redact } from '../evidence/redact.ts'
import { makeSeal } from '../evidence/seal.ts'
import { predicateOf } from '../evidence/shape.ts'
import type { Correlation } from '../model/correlation.ts'
import {
  assuranceLevel,
  attemptRecord,
  callRecord,
  type EventDraft,
  evidenceEvent,
  foreignEvent,
  type SealedEvent,
} from '../model/evidence.ts'
import { parseAs } from '../model/parse.ts'
import { getTenant } from '../storage/tenants.ts'
import type { Change } from '../storage/work.ts'
import type { Ambit } from './ambit.ts'
import type { Caller } from './caller.ts'

type Given = Pick<EventDraft, 'event_type' | 'payload'> &
  Partial<Omit<EventDraft, 'event_id' | 'subject' | 'timestamp'>>

/**
 * One thing that happened. What is left out is minted or null; the subject is the caller, whatever the input says.
 * `redacted: true` says that something was held back already; whatever the redactor holds back is added to that.
 */
export type EventInput = Given & { readonly correlation: Correlation }

export interface Recorded<T> {
  readonly value: T
  readonly events: readonly SealedEvent[]
}

/** Seals events in the caller's name and keeps them, together with a change of state when one is given. */
export async function record<T = void>(
  ambit: Ambit,
  caller: Caller,
  inputs: readonly EventInput[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  const { host_id } = await ambit.store.read(() => getTenant(caller.tenant))
  return recordAs(ambit, caller, host_id, inputs, change)
}

/** As `record`, for whoever knows the tenant's host id already. */
export async function recordAs<T = void>(
  ambit: Ambit,
  caller: Caller,
  hostId: string,
  inputs: readonly EventInput[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  const seal = makeSeal({ hostId, tenant: caller.tenant })
  const events = inputs.map((input) => draft(ambit, caller, input))
  const done = await ambit.store.commit(caller.tenant, { ...(change && { change }), events, seal })
  ambit.heads.grew(caller.tenant, events.length)
  return { value: done.value as T, events: done.events }
}

/** The payload goes through the redactor first: members named like secrets never reach evidence. */
function draft(ambit: Ambit, { subject }: Caller, input: EventInput): EventDraft {
  const { value: payload, redacted } = redact(input.payload, nothingMarked)
  const made = {
    event_type: input.event_type,
    invocation_id: input.invocation_id ?? ambit.ids.next('inv'),
    capability_id: input.capability_id ?? 'ambit.runtime',
    capability_version: input.capability_version ?? null,
    correlation: input.correlation,
    payload: payload as EventInput['payload'],
    outcome: input.outcome ?? null,
    actor: input.actor ?? null,
    denial: input.denial ?? null,
    error: input.error ?? null,
    redacted: redacted || (input.redacted ?? false),
    ...(input.assurance !== undefined && { assurance: input.assurance }),
    ...(input.record !== undefined && { record: input.record }),
  }
  if (!isSealable(made)) parseAs(sealable, made, 'event')
  return { ...made, event_id: ambit.ids.next('evt'), timestamp: formatTime(ambit.clock.now()), subject }
}

const nothingMarked: Marks = { pointers: new Set(), all: false }

/** What a verifier will ask for: an event that could never be proven is refused before it is part of a chain. */
const sealable = evidenceEvent
  .pick({
    event_type: true,
    invocation_id: true,
    capability_id: true,
    capability_version: true,
    correlation: true,
    outcome: true,
    denial: true,
    error: true,
    redacted: true,
  })
  .extend({
    payload: foreignEvent.shape.payload,
    actor: callRecord.shape.actor,
    assurance: assuranceLevel.optional(),
    record: attemptRecord.optional(),
  })
const isSealable = predicateOf(sealable)

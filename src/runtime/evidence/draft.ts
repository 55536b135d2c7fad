import { Failure } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { formatTime } from '../../base/time.ts'
import { copyEvent } from '../../evidence/copy.ts'
import { asJson } from '../../evidence/json.ts'
import { nothingMarked, redact, secretsIn } from '../../evidence/redaction/redact.ts'
import { predicateOf } from '../../evidence/verify/shape.ts'
import {
  type AttemptRecord,
  assuranceLevel,
  attemptRecord,
  callRecord,
  type EventDraft,
  evidenceEvent,
  foreignEvent,
} from '../../model/evidence.ts'
import { parseAs } from '../../model/parse.ts'
import type { CallError, Denial } from '../../model/wire/denial.ts'
import type { Caller } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'

type Unsigned = Omit<EventDraft, 'event_id' | 'timestamp' | 'subject'>

/**
 * One thing that happened. What is left out is minted or null; the subject is the caller, whatever the input says.
 * `redacted: true` says that something was held back already; whatever the redactor holds back is added to that.
 */
export type EventInput = Pick<Unsigned, 'event_type' | 'payload' | 'correlation'> & Partial<Unsigned>

/** The event in the caller's name, in a shape that can be proven, and without secrets. */
export function draft(ambit: Runtime, { subject }: Caller, input: EventInput): EventDraft {
  const made = copyEvent<Unsigned>({
    event_type: input.event_type,
    invocation_id: input.invocation_id ?? ambit.ids.next('inv'),
    capability_id: input.capability_id ?? 'ambit.runtime',
    capability_version: input.capability_version ?? null,
    correlation: input.correlation,
    payload: input.payload,
    outcome: input.outcome ?? null,
    actor: input.actor ?? null,
    denial: input.denial ?? null,
    error: input.error ?? null,
    redacted: input.redacted ?? false,
    ...defined({ assurance: input.assurance, record: input.record }),
  })
  if (!isSealable(made)) parseAs(sealable, made, 'event')
  checkContext(made.record)
  const safe = withoutSecrets(made)
  return { ...safe, event_id: ambit.ids.next('evt'), timestamp: formatTime(ambit.clock.now()), subject }
}

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

function checkContext(record: AttemptRecord | undefined): void {
  const index = record?.context?.findIndex(({ sensitive, value }) => sensitive && value !== undefined) ?? -1
  if (index < 0) return
  const pointer = `/record/context/${index}/value`
  throw new Failure('field.invalid', `event: \`${pointer}\` is sensitive`, { pointer }, 'give its keyed digest instead')
}

/**
 * Members named like secrets are hidden, and their texts wherever else in the event somebody may have put them. Ids,
 * codes and types stay: they are words of the protocol, and an event without them would have no shape.
 */
function withoutSecrets(event: Unsigned): Unsigned {
  const { payload, error, denial, correlation, record } = event
  const secrets = [payload, error, denial?.details, correlation.baggage].flatMap((part) =>
    part ? secretsIn(asJson(part), nothingMarked) : [],
  )
  let redacted = event.redacted
  const hide = <T>(part: T): T => {
    const done = redact(asJson(part), nothingMarked, secrets)
    redacted ||= done.redacted
    return done.value as T
  }
  const safe = {
    ...event,
    payload: hide(payload),
    error: error && safeError(error, hide),
    denial: denial && safeDenial(denial, hide),
    correlation: correlation.baggage ? { ...correlation, baggage: hide(correlation.baggage) } : correlation,
    ...(record?.context && { record: { ...record, context: record.context.map((entry) => safeEntry(entry, hide)) } }),
  }
  return { ...safe, redacted }
}

type Hide = <T>(part: T) => T

const safeError = ({ type, effect, message, ...rest }: CallError, hide: Hide): CallError => ({
  ...hide(rest),
  type,
  message: hide(message),
  ...(effect && { effect }),
})

const safeDenial = ({ message, details, ...rest }: Denial, hide: Hide): Denial => ({
  ...rest,
  message: hide(message),
  ...(details && { details: hide(details) }),
})

type ContextEntry = NonNullable<AttemptRecord['context']>[number]

const safeEntry = (entry: ContextEntry, hide: Hide): ContextEntry =>
  entry.value === undefined ? entry : { ...entry, value: hide(entry.value) }

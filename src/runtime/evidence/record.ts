import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { formatTime } from '../../base/time.ts'
import { copyEvent } from '../../evidence/copy.ts'
import { asJson } from '../../evidence/json.ts'
import { nothingMarked, redact, secretsIn } from '../../evidence/redaction/redact-values.ts'
import { makeSeal } from '../../evidence/seal.ts'
import { predicateOf } from '../../evidence/verify/shape.ts'
import { FactsChanged } from '../../gateway/events.ts'
import type { AttemptRecord, EventDraft, SealedEvent } from '../../model/evidence.ts'
import { assuranceLevel, attemptRecord, callRecord, evidenceEvent, foreignEvent } from '../../model/evidence.ts'
import { parseAs } from '../../model/parse.ts'
import { inScopes } from '../../model/text.ts'
import { isOwnCorrelation } from '../../model/wire/correlation.ts'
import type { CallError, Denial } from '../../model/wire/denial.ts'
import { getTenant } from '../../storage/tables/tenants.ts'
import type { Change } from '../../storage/work.ts'
import type { Caller } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'

type Unsigned = Omit<EventDraft, 'event_id' | 'timestamp' | 'subject'>

/**
 * One thing that happened. What is left out is minted or null; the subject is the caller, whatever the input says.
 * `redacted: true` says that something was held back already; whatever the redactor holds back is added to that.
 */
export type EventInput = Pick<Unsigned, 'event_type' | 'payload' | 'correlation'> & Partial<Unsigned>

export interface Recorded<T> {
  readonly value: T
  readonly events: readonly SealedEvent[]
}

/** Seals events in the caller's name and keeps them with the change. Refuses what only the runtime may say. */
export async function record<T = void>(
  ambit: Runtime,
  caller: Caller,
  inputs: readonly EventInput[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  const events = draftAll(ambit, caller, inputs)
  for (const event of events) {
    checkOwn(event)
    checkScope(caller, event)
  }
  const { host_id } = await ambit.store.read(() => getTenant(caller.tenant))
  return keep(ambit, caller, host_id, events, change)
}

/** As `record`, for the runtime itself: whatever the event, in whichever correlation. */
export async function recordAs<T = void>(
  ambit: Runtime,
  caller: Caller,
  hostId: string,
  inputs: readonly EventInput[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  return keep(ambit, caller, hostId, draftAll(ambit, caller, inputs), change)
}

const attemptsMax = 5

/** Looks and writes, again for as long as others change what was looked at before it is written. */
export async function untilUnchanged<T>(what: string, lookAndWrite: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++)
    try {
      return await lookAndWrite()
    } catch (error) {
      if (!(error instanceof FactsChanged)) throw error
    }
  throw new Failure('store.busy', `${what} kept changing meanwhile`, {}, 'try again')
}

function draftAll(ambit: Runtime, caller: Caller, inputs: readonly EventInput[]): EventDraft[] {
  if (inputs.length > limits.eventsPerCommitMax)
    throw new Failure('field.invalid', `more than ${limits.eventsPerCommitMax} events at once`, { pointer: '' })
  return inputs.map((input) => draft(ambit, caller, input))
}

async function keep<T>(
  ambit: Runtime,
  { tenant }: Caller,
  hostId: string,
  events: readonly EventDraft[],
  change?: Change<T>,
): Promise<Recorded<T>> {
  const seal = makeSeal({ hostId, tenant })
  const done = await ambit.store.commit(tenant, { ...(change && { change }), events, seal })
  ambit.heads.noteEvents(tenant, done.events)
  return { value: done.value as T, events: done.events }
}

/** Evidence of people, keys and the evidence itself is written only by the code that changes them. */
function checkOwn({ event_type, correlation: { correlation_id: id } }: EventDraft): void {
  if (/^ambit\./.test(event_type) || runtimeTypes.has(event_type)) throw reserved('/event_type', event_type)
  if (isOwnCorrelation(id)) throw reserved('/correlation/correlation_id', id)
}

const runtimeTypes: ReadonlySet<string> = new Set([
  ...['key_generated', 'key_rotated', 'key_revoked', 'identity_anchored', 'evidence_purged', 'evidence_redacted'],
])

const reserved = (pointer: string, text: string): Failure =>
  new Failure('field.invalid', `event: \`${pointer}\` ${quote(text)} is the runtime's own`, { pointer })

/** A key limited to capabilities speaks of those alone. */
function checkScope({ scopes }: Caller, { capability_id: id }: EventDraft): void {
  if (scopes.length === 0 || inScopes(scopes, id)) return
  const help = 'name a capability of the key as `capability_id`, or use another key'
  throw new Failure('caller.not_permitted', `this key is not for the capability ${quote(id)}`, {}, help)
}

/** The event in the caller's name, in a shape that can be proven, and without secrets. */
function draft(ambit: Runtime, { subject }: Caller, input: EventInput): EventDraft {
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

/** Hides members named like secrets, and their texts all over the event. Words of the protocol stay: it needs them. */
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

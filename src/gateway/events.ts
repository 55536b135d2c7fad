import type { Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import { contextDigest, inputDigest } from '../evidence/digests.ts'
import { asJson, hashedText } from '../evidence/json.ts'
import { nothingMarked, redact, scrubText } from '../evidence/redaction/redact-values.ts'
import type { AttemptRecord, EventDraft } from '../model/evidence.ts'
import type { CallError, Denial } from '../model/wire/denial.ts'
import type { FieldState } from '../policy/contract.ts'
import { type Change, inOrder } from '../storage/work.ts'
import { type Attempt, type EventSpec, secretsOf } from './attempt.ts'
import type { Call } from './call.ts'
import type { GatewayDeps } from './deps.ts'
import type { CallRun } from './run.ts'

/** What the decision rests on has changed since it was made: it is to be made again. */
export class FactsChanged extends Error {}

type Drafts = readonly EventDraft[]

/** Writes changes and evidence in one transaction. `opens` is their correlation, if its id was made for them. */
export async function writeEvents(deps: GatewayDeps, events: Drafts, changes: readonly Change[], opens?: string) {
  const { store, tenant, seal, wrote } = deps
  const change = changes.length > 0 && { change: inOrder(...changes) }
  const { events: written } = await store.commit(tenant, { ...change, events, seal, opens })
  wrote(written)
}

type Event = Partial<EventDraft> &
  Pick<EventDraft, 'event_type' | 'invocation_id' | 'capability_id' | 'capability_version' | 'correlation' | 'subject'>

/** An event about a call, which happens now. What is left out of it is not known, or held back. */
export const draftEvent = ({ ids, clock }: GatewayDeps, event: Event): EventDraft => ({
  event_id: ids.next('evt'),
  timestamp: formatTime(clock.now()),
  outcome: null,
  payload: {},
  actor: null,
  denial: null,
  error: null,
  redacted: true,
  ...event,
})

/** The events of one write, without the call's secrets and payload; the first and the last carry the call record. */
export function draftsOf(
  attempt: Attempt,
  specs: readonly EventSpec[],
  { timestamp, record, data }: { readonly timestamp: string; readonly record: AttemptRecord; readonly data?: Json },
): EventDraft[] {
  const { call, capability } = attempt
  // Few calls record foreign text, so few need to know their secrets.
  const secrets = specs.some(isForeign) ? secretsOf(attempt, data) : []
  return specs.map((spec, index) => {
    const payload = spec.foreign ? redact(spec.payload ?? {}, nothingMarked, secrets) : undefined
    const details = spec.denial && redact(asJson(spec.denial.details ?? {}), nothingMarked, secrets)
    return draftEvent(attempt.deps, {
      event_type: spec.type,
      invocation_id: call.invocationId,
      capability_id: call.capabilityId,
      timestamp,
      outcome: spec.outcome ?? null,
      correlation: call.correlation,
      payload: (payload?.value ?? spec.payload ?? {}) as EventDraft['payload'],
      subject: attempt.subject,
      actor: call.actor,
      capability_version: attempt.version,
      denial: spec.denial ? safeDenial(spec.denial, details?.value, secrets) : null,
      error: spec.error ? scrubbed(spec.error, secrets) : null,
      // What a call is made of stays out of its events, so something is held back unless there was nothing.
      redacted: Boolean(
        spec.withheld || payload?.redacted || details?.redacted || Object.keys(call.payload).length > 0,
      ),
      assurance: capability?.descriptor.assurance?.level,
      record: index === 0 || index === specs.length - 1 ? record : undefined,
    })
  })
}

const isForeign = ({ foreign, denial, error }: EventSpec): boolean =>
  foreign === true || denial !== undefined || error !== undefined

const safeDenial = (denial: Denial, details: Json | undefined, secrets: readonly string[]): Denial => ({
  ...denial,
  message: scrubText(denial.message, secrets),
  ...(denial.details && { details: details as Record<string, Json> }),
})

/** An error without the secrets. A type or code that holds one says nothing else, and is left out. */
export const scrubbed = (error: CallError, secrets: readonly string[]): CallError => ({
  ...error,
  type: scrubText(error.type, secrets) === error.type ? error.type : 'Error',
  code: error.code != null && scrubText(error.code, secrets) === error.code ? error.code : null,
  message: scrubText(error.message, secrets),
})

/** Leaves out of the baggage what has a sensitive name, and the secrets of the call: it is in every event and result. */
export function hideInBaggage(attempt: Attempt): void {
  const { correlation } = attempt.call
  if (correlation.baggage === undefined) return
  const { value, redacted } = redact(correlation.baggage, nothingMarked, secretsOf(attempt))
  if (!redacted) return
  const baggage = value as NonNullable<typeof correlation.baggage>
  attempt.call = { ...attempt.call, correlation: { ...correlation, baggage } }
}

/** How the call was decided, as the first and last event of every write say it, those of the handler among them. */
export function recordOf(attempt: Attempt): AttemptRecord {
  const { deps, call, capability, policy, facts, basis, decision, approval } = attempt
  return {
    descriptor: capability?.digest ?? null,
    policy: policy ?? null,
    input: inputDigest(deps.digest, call.payload as Json),
    context: safeContext(attempt),
    ...(facts && { facts }),
    basis,
    decision,
    approval,
    ...(call.run && { run: runEntryOf(call, call.run) }),
  }
}

function runEntryOf({ invocationId, capabilityId }: Call, { entry, bounds }: CallRun): AttemptRecord['run'] {
  const resource = bounds?.tools.get(capabilityId)?.resource
  const { kind: provider = null, effective: mode = null } = resource ?? {}
  return { ...entry, tool_call_id: invocationId, provider, mode }
}

function safeContext(attempt: Attempt): ContextEntry[] {
  const { deps, context } = attempt
  const values = context.fields.filter(({ evidence }) => evidence === 'value').map(({ value = null }) => value)
  const secrets = values.some((value) => value !== null) ? secretsOf(attempt) : []
  if (values.length > 0) checkWords(values, 'the context of the call')
  return context.fields.map((field) => {
    const hides = field.evidence === 'value' && redact(field.value ?? null, nothingMarked, secrets).redacted
    return contextEntry(deps, hides ? { ...field, evidence: 'digest' } : field)
  })
}

/** Refuses words of others that would make an event longer than events may be: said before anything is written. */
export function checkWords(words: unknown, what: string): void {
  if (hashedText(asJson(words)).length <= limits.eventWordsBytesMax) return
  throw new Failure('payload.too_large', `${what} has more than ${limits.eventWordsBytesMax} bytes in evidence`)
}

type ContextEntry = NonNullable<AttemptRecord['context']>[number]

export function contextEntry(
  { digest }: Pick<GatewayDeps, 'digest'>,
  { name, source, state, sensitive, evidence, value }: FieldState,
): ContextEntry {
  const entry = { name, source, state, sensitive }
  if (value === undefined || evidence === 'omit') return entry
  return evidence === 'value' ? { ...entry, value } : { ...entry, digest: contextDigest(digest, name, value) }
}

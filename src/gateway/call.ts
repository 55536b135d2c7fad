import type { Json } from '../base/canonical.ts'
import { canonical } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import type { Ids } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import { copyEvent } from '../evidence/copy.ts'
import type { Actor, Subject } from '../model/identity/subject.ts'
import { parseAs } from '../model/parse.ts'
import { line } from '../model/text.ts'
import { type Correlation, isOwnCorrelation, isRunCall } from '../model/wire/correlation.ts'
import { type ReceivedEnvelope, receivedEnvelope } from '../model/wire/invocation.ts'
import { deepFreeze } from '../policy/contract.ts'
import type { GatewayDeps } from './deps.ts'
import type { CallRun } from './run.ts'

/** Who calls, as the door has found out; nothing of it is the caller's own word. */
export interface CallCaller {
  /** The verified subject, or null for an anonymous caller. */
  readonly subject: Subject | null
  /** Under whose name calls are recorded: the same for all keys of one principal. */
  readonly name: string
  /** The history that the call belongs to, where the door knows of one: never the caller's own word. */
  readonly history?: string
  readonly scopes: readonly string[]
  readonly permissions: readonly string[]
  readonly revokedPermissions: readonly string[]
}

type Members = { readonly [key: string]: Json | undefined }

/** One call, complete: what was left out is filled in, what a caller may not say is gone. */
export interface Call {
  readonly caller: CallCaller
  readonly invocationId: string
  /** True if the caller named the id itself: then it may have been used before. */
  readonly named: boolean
  readonly capabilityId: string
  readonly version: string | null
  readonly range: string | undefined
  readonly mode: string
  readonly payload: Members
  readonly metadata: Members
  readonly purpose: string | undefined
  readonly audience: Json | undefined
  readonly correlation: Correlation
  /** True if the correlation was made for this call: then nothing is on record of it. */
  readonly opens: boolean
  readonly subject: Subject
  readonly actor: Actor | null
  readonly mandate: Json | undefined
  readonly grants: readonly Json[]
  readonly binding: Json | undefined
  readonly requireOutput: boolean
  /** The run that makes the call, as the runtime says. */
  readonly run?: CallRun
}

/** Reads an envelope; a malformed one is a `field.*` failure that names the member. */
export function readCall(input: unknown, caller: CallCaller, ids: Ids, run?: CallRun): Call {
  const envelope = parseAs(receivedEnvelope, copyEvent(input as object, 'envelope'), 'envelope')
  const { metadata = {}, correlation, approval_ref } = envelope
  const given = correlation?.correlation_id ?? envelope.correlation_id
  const correlationId = given ?? ids.next('cor')
  checkCorrelation(correlationId)
  if (run === undefined && isRunCall(envelope.invocation_id ?? ''))
    throw invalid('/invocation_id', `${quote(envelope.invocation_id ?? '')} is the id of a call of a run`)
  if (correlation?.baggage !== undefined) checkBaggage(correlation.baggage)
  return {
    caller,
    invocationId: envelope.invocation_id ?? ids.next('inv'),
    named: envelope.invocation_id !== undefined,
    capabilityId: envelope.capability_id,
    version: envelope.version ?? null,
    range: envelope.requested_capability_version,
    mode: envelope.mode ?? 'sync',
    // Frozen, so that the value that is executed is the one that was checked and decided about.
    payload: deepFreeze((envelope.payload ?? {}) as Members),
    metadata: deepFreeze(metadata as Members),
    purpose: purposeOf(metadata['purpose']),
    audience: metadata['audience'] as Json | undefined,
    correlation: { ...correlation, correlation_id: correlationId },
    opens: given === undefined,
    subject: caller.subject ?? asserted(envelope),
    actor: envelope.actor ?? null,
    mandate: envelope.mandate as Json | undefined,
    grants: (approval_ref === undefined ? [] : [approval_ref].flat()) as readonly Json[],
    binding: envelope.binding as Json | undefined,
    requireOutput: envelope.require_output_schema ?? false,
    ...(run && { run }),
  }
}

/** The histories of people and keys are the runtime's alone: no call may put anything beside them. */
function checkCorrelation(id: string): void {
  if (!isOwnCorrelation(id)) return
  throw invalid('/correlation/correlation_id', `${quote(id)} is the runtime's own`)
}

/** Baggage is in every event and result of the call, twice in the events. */
function checkBaggage(baggage: NonNullable<Correlation['baggage']>): void {
  const { baggageMembersMax, baggageBytesMax } = limits
  const count = Object.keys(baggage).length
  if (count <= baggageMembersMax && Buffer.byteLength(JSON.stringify(baggage)) <= baggageBytesMax) return
  throw invalid('/correlation/baggage', `must be at most ${baggageMembersMax} members and ${baggageBytesMax} bytes`)
}

/** What a call is for. Approvers see it as one line, in a request and in the list of requests. */
function purposeOf(purpose: unknown): string | undefined {
  if (typeof purpose !== 'string' || purpose === '') return undefined
  const { success, data, error } = line.safeParse(purpose)
  if (success) return data
  throw invalid('/metadata/purpose', `${error.issues[0]?.message}`)
}

const invalid = (pointer: string, why: string): Failure =>
  new Failure('field.invalid', `envelope: \`${pointer}\` ${why}`, { pointer })

/** What an unknown caller says of itself: kept for people to read, and worth nothing. */
function asserted({ subject }: ReceivedEnvelope): Subject {
  const id = subject?.['id']
  const known = typeof id === 'string' && id !== '' && id.length <= 256 && !/\p{Cc}/u.test(id)
  return { id: known ? id : 'anonymous', verified: false }
}

/** Tells calls apart that share an id: what is asked for, with what, on whose behalf. */
export function fingerprintOf({ capabilityId, version, range, payload, ...call }: Call): string {
  // A contract may take its facts from anywhere in it. Evidence that changed voids a yes; it makes no other call.
  const metadata = { ...call.metadata, evidence_snapshot: undefined }
  const { environment = null } = call.correlation
  return sha256(canonical([capabilityId, version, range ?? null, payload, metadata, environment, call.mandate ?? null]))
}

/** The call as it is kept while people decide about it. */
export function waitingCopy({ run, ...call }: Call): Call {
  const { bounds: _, ...known } = run ?? {}
  return { ...call, grants: [], ...(run && { run: known as CallRun }) }
}

/** The key of a call's record. Its parts carry their lengths, so no two lists of parts read alike. */
export const callKey = (...parts: readonly string[]): string => parts.map((part) => `${part.length}:${part}`).join('')

/** The name of a call in the queue and among the recorded results. */
export const recordKey = ({ caller, invocationId }: Pick<Call, 'caller' | 'invocationId'>): string =>
  `${recordKeysOf(invocationId)}${callKey(caller.name)}`

/** How the record keys of all calls with one id begin, for every caller. */
export const recordKeysOf = (invocationId: string): string => callKey(invocationId)

/** What upstreams know a call by: the same for every attempt at it, those of a run too, which have ids of their own. */
export const idempotencyKeyOf = ({ digest }: Pick<GatewayDeps, 'digest'>, key: string): string =>
  digest(['ambit-idempotency-v1', firstAttempt(key)])

/** The key of a call's record, for a later attempt of a run (`tool_…r1`) that of its first. */
function firstAttempt(key: string): string {
  const [head = '', length = ''] = /^(\d+):/.exec(key) ?? []
  const id = key.slice(head.length, head.length + Number(length))
  const first = id.replace(/^(tool_[0-9a-f]{16}[0-9a-z]+)r[1-9]$/, '$1')
  return first === id ? key : recordKeysOf(first) + key.slice(head.length + id.length)
}

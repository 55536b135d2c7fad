import type { Json } from '../base/canonical.ts'
import { allMarked, secretsIn } from '../evidence/redaction/redact.ts'
import type { AttemptRecord } from '../model/evidence.ts'
import type { Subject } from '../model/identity/subject.ts'
import type { CallError, Denial } from '../model/wire/denial.ts'
import { type CollectedContext, noContext } from '../policy/contract.ts'
import type { Refusal } from '../policy/gates/refusal.ts'
import type { History } from '../policy/history.ts'
import type { StoredApproval } from '../storage/tables/approvals.ts'
import type { Reservation } from '../storage/tables/budget-uses.ts'
import type { Change } from '../storage/work.ts'
import type { Call } from './call.ts'
import type { Registered } from './registry.ts'
import type { Driving } from './run.ts'

type Members = { readonly [key: string]: Json }

/** One event of an attempt, before it has an id, a time and a place. */
export interface EventSpec {
  readonly type: string
  readonly payload?: Members
  /** True if the payload is somebody else's words, from which the call's secrets have to be taken. */
  readonly foreign?: boolean
  /** True if what the event is about, such as a result, is held back. */
  readonly withheld?: boolean
  readonly outcome?: 'success' | 'failure' | 'denied' | 'skipped' | 'indeterminate'
  readonly denial?: Denial
  readonly error?: CallError
}

/** What was asked: the call, who drives it, and what people were asked about it before. */
export interface Asked {
  call: Call
  readonly driving: Driving
  /** The call's own subject, or the delegate once a mandate has been verified. */
  subject: Subject
  capability: Registered | undefined
  version: string | null
  context: CollectedContext
  /** The payload as the input schema hands it on. */
  input: unknown
  /** What people were asked about this call before, newest first. */
  requests: readonly StoredApproval[]
  /** True if an approver has put the payload in the place of the caller's. */
  readonly edited: boolean
  /** Secrets of the tenant that the handler was given. */
  readonly credentials: Set<string>
}

/** What was decided, and by what. */
export interface Decided {
  policy: AttemptRecord['policy']
  basis: NonNullable<AttemptRecord['basis']>
  decision: NonNullable<AttemptRecord['decision']>
  approval: NonNullable<AttemptRecord['approval']> | null
  /** What the rules read of the history, the capability and the run, as far as it is put on record. */
  facts: AttemptRecord['facts']
  /** Whether the rules would answer the same to another history; undefined where they do not ask for it. */
  holds: ((history: History) => boolean) | undefined
}

/** What is to be written. */
export interface ToWrite {
  /** Events of the gates, in order, to be written with the decision. */
  readonly events: EventSpec[]
  /** Changes of state that the gates have prepared, to be made with the decision. */
  readonly changes: Change[]
  /** Changes that are made with the intent alone: a refusal makes none of them. */
  readonly starting: Change[]
  /** What was reserved of budgets, to be settled with the outcome. */
  readonly reserved: Reservation[]
  /** What the handler has taken so far: bytes of its answer, and millionths of units, if it says so. */
  readonly taken: { bytes: number; cost: number | undefined }
  /** The request that people are asked with: then the call waits, and may come again. */
  minted: StoredApproval | undefined
  /** What evidence has for the message of a refusal that repeats names out of the call. */
  recordedMessage: string | undefined
}

/** One call on its way through the gates. */
export interface Attempt extends Asked, Decided, ToWrite {}

/** A refusal that says more to the caller than evidence may have: names out of the call. */
export function sayMore(attempt: ToWrite, refusal: Refusal, more: string): Refusal {
  const { denial } = refusal
  attempt.recordedMessage = denial.message
  return { ...refusal, denial: { ...denial, message: `${denial.message}${more}` } }
}

export const startAttempt = (call: Call, driving: Driving = {}): Attempt => ({
  call,
  driving,
  subject: call.subject,
  capability: undefined,
  version: null,
  context: noContext,
  policy: null,
  basis: [],
  decision: 'deny',
  approval: null,
  events: [],
  changes: [],
  starting: [],
  reserved: [],
  taken: { bytes: 0, cost: undefined },
  holds: undefined,
  facts: undefined,
  requests: [],
  minted: undefined,
  edited: false,
  recordedMessage: undefined,
  input: call.payload,
  credentials: new Set(),
})

/** Sensitive texts of this call, and of its result once there is one, that must turn up nowhere. */
export function secretsOf({ call, capability, context, credentials }: Asked, data?: Json): readonly string[] {
  if (capability === undefined) return []
  const fields = context.fields.flatMap(({ sensitive, value }) => (sensitive && value !== undefined ? [value] : []))
  return [
    ...new Set([
      ...credentials,
      ...secretsIn(call.payload as Json, capability.inputMarks),
      ...secretsIn(fields, allMarked),
      ...(data === undefined ? [] : secretsIn(data, capability.outputMarks)),
    ]),
  ]
}

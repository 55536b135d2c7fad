import type { Json } from '../base/canonical.ts'
import { allMarked, secretsIn } from '../evidence/redaction/redact-values.ts'
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
import type { GatewayDeps, Offer } from './deps.ts'
import type { Registered } from './registry.ts'
import type { Driving } from './run.ts'

/** One event of an attempt, before it has an id, a time and a place. */
export interface EventSpec {
  readonly type: string
  readonly payload?: { readonly [key: string]: Json }
  /** True if the payload is foreign text, from which the call's secrets have to be removed. */
  readonly foreign?: boolean
  /** True if what the event is about, such as a result, is held back. */
  readonly withheld?: boolean
  readonly outcome?: 'success' | 'failure' | 'denied' | 'skipped' | 'indeterminate'
  readonly denial?: Denial
  readonly error?: CallError
}

/** One call on its way: what was asked, what the gates have found out and decided, and what is to be written. */
export class Attempt {
  readonly deps: GatewayDeps
  /** The offer that the call began with. */
  readonly offer: Offer
  call: Call
  readonly driving: Driving
  /** What people were asked about this call before, newest first. */
  readonly requests: readonly StoredApproval[]
  /** True if an approver has put the payload in the place of the caller's. */
  readonly edited: boolean
  /** The call's own subject, or the delegate once a mandate has been verified. */
  subject: Subject
  /** The payload as the input schema hands it on. */
  input: unknown
  capability: Registered | undefined = undefined
  version: string | null = null
  /** The paths that are granted for the resource of a run that the call is about. */
  granted: readonly string[] = []
  /** The paths that the handler has read or written. */
  scopes: readonly string[] = []
  context: CollectedContext = noContext
  /** Secrets of the tenant that the handler was given. */
  readonly credentials: Set<string> = new Set()

  policy: AttemptRecord['policy'] = null
  basis: NonNullable<AttemptRecord['basis']> = []
  decision: NonNullable<AttemptRecord['decision']> = 'deny'
  approval: NonNullable<AttemptRecord['approval']> | null = null
  /** What the rules read of the history, the capability and the run, as far as it is put on record. */
  facts: AttemptRecord['facts'] = undefined
  /** Whether the rules would answer the same to another history; undefined where they do not ask for it. */
  holds: ((history: History) => boolean) | undefined = undefined

  /** Events of the gates, in order, to be written with the decision. */
  readonly events: EventSpec[] = []
  /** Changes of state that the gates have prepared, to be made with the decision. */
  readonly changes: Change[] = []
  /** Changes that are made with the intent alone: a refusal makes none of them. */
  readonly starting: Change[] = []
  /** What was reserved of budgets, to be settled with the outcome. */
  readonly reserved: Reservation[] = []
  /** What the handler has taken so far: bytes of its answer, and millionths of units, if it says so. */
  readonly taken: { bytes: number; cost: number | undefined } = { bytes: 0, cost: undefined }
  /** The request that people are asked with: then the call waits, and may come again. */
  minted: StoredApproval | undefined = undefined
  /** What evidence has for the message of a refusal that repeats names out of the call. */
  recordedMessage: string | undefined = undefined

  constructor(
    deps: GatewayDeps,
    call: Call,
    { driving = {}, requests = [], edited = false }: Partial<Pick<Attempt, 'driving' | 'requests' | 'edited'>> = {},
  ) {
    this.deps = deps
    this.offer = deps.offer()
    this.call = call
    this.driving = driving
    this.requests = requests
    this.edited = edited
    this.subject = call.subject
    this.input = call.payload
  }
}

export interface Resolved extends Attempt {
  capability: Registered
}

/** What a gate answers: why the call goes no further, if it does not; later where it has to fetch a fact first. */
export type GateAnswer = Promise<Refusal | undefined> | Refusal | undefined

/** A refusal that says more to the caller than evidence may have: names out of the call. */
export function sayMore(attempt: Attempt, refusal: Refusal, more: string): Refusal {
  const { denial } = refusal
  attempt.recordedMessage = denial.message
  return { ...refusal, denial: { ...denial, message: `${denial.message}${more}` } }
}

/** Sensitive texts of this call, and of its result once there is one, that must turn up nowhere. */
export function secretsOf({ call, capability, context, credentials }: Attempt, data?: Json): readonly string[] {
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

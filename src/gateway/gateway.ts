import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { ApprovalRequest } from '../model/approval.ts'
import type { CapabilityDescriptor } from '../model/capability.ts'
import type { Denial } from '../model/wire/denial.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { CallPreview } from '../model/wire/wire.ts'
import { gateNumbers } from '../policy/gates/refusal.ts'
import { approvalRecords, type StoredApproval } from '../storage/tables/approvals.ts'
import { type Decision, decideApproval } from './approvals/decide.ts'
import { type Decider, expireApprovals } from './approvals/desk.ts'
import { type NewEnvelope, openWaiting, pendingFor, type WaitOptions, waitingCall } from './approvals/queue.ts'
import { Attempt } from './attempt.ts'
import { type CallCaller, readCall, recordKey } from './call.ts'
import type { GatewayDeps } from './deps.ts'
import { discover } from './discover.ts'
import { noteRefusal, passGates, scopeGate } from './gates/gates.ts'
import { type Host, invoke } from './invoke.ts'
import { recordedResult } from './look-up.ts'
import { askAgain, reconcile } from './recovery/reconcile.ts'
import { forgetExpired } from './recovery/steps.ts'
import { openUnrecorded } from './recovery/unrecorded.ts'
import type { Recorded } from './results.ts'
import type { Driving, Surface } from './run.ts'
import { openUnderWay } from './under-way.ts'
import { within } from './within.ts'

/** The one door to effects of one tenant. */
export interface Gateway {
  /** Decides about a call and carries it out. Whatever comes of it is a result; only a malformed envelope is a failure. */
  invoke(caller: CallCaller, envelope: unknown, driving?: Driving): Promise<Recorded>
  /** What would be decided now: all gates, no effect, no evidence. */
  preview(caller: CallCaller, envelope: unknown): Promise<CallPreview>
  /** What this caller may call; for a run, of its surface alone. */
  discover(caller: CallCaller, surface?: Surface): readonly CapabilityDescriptor[]
  /**
   * The recorded result of the caller's own call, if there is one and the key is for its capability. One that runs fails
   * with `call.in_progress`.
   */
  recorded(caller: CallCaller, invocationId: string): Promise<InvocationResult | undefined>
  /** The id of this caller's own call like this one that people were asked about: for those who cannot repeat an id. */
  waitingCall(caller: CallCaller, envelope: NewEnvelope): Promise<string | undefined>
  decide(approvalId: string, by: Decider, decision: Decision): Promise<ApprovalRequest>
  /** The requests that this person may decide about now, newest first. */
  pendingFor(principal: string): Promise<readonly ApprovalRequest[]>
  /**
   * The request once it is decided, in whichever process; the one that took its place if it was edited. Still pending
   * when the time is up.
   */
  waitForDecision(approvalId: string, options?: WaitOptions): Promise<ApprovalRequest>
  /**
   * Ends what others left behind: calls of processes that are gone, requests whose time is over; and takes away what is
   * kept no longer, as far as that does not take long.
   */
  tidyUp(): Promise<Tidied>
  /** One turn of the timer of the process: as `tidyUp`, but it never fails and does not wait for capabilities that are asked. */
  tidyInTurn(): Promise<void>
  /** How many calls are carried out now. */
  underWay(): number
  /** Whether it can be closed without losing anything: no call runs, and no outcome is left to be recorded. */
  isIdle(): boolean
  /** Waits for calls under way. */
  close(): Promise<void>
}

export interface Tidied {
  readonly interrupted: readonly string[]
  readonly expired: number
  /** How many correlations. */
  readonly purged: number
}

// As much as a busy host may have added since the last time; at the start, which somebody waits for, a little.
const stepsMax = { forget: 200, purge: 10 }
const stepsAtStart = { forget: 1, purge: 1 }
const closingMs = 2_000

export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const closing = new AbortController()
  const { signal } = closing
  const waiting = openWaiting(deps)
  const host: Host = {
    deps,
    told: waiting.told,
    running: new Map(),
    starting: new Set(),
    late: new Set(),
    unrecorded: openUnrecorded(),
    ask: () => void asking.count(() => askAgain(host)).catch(() => undefined),
    closing: signal,
  }
  const [calls, asking] = [openUnderWay(), openUnderWay()]
  await tidied(host, stepsAtStart).catch(() => undefined)
  host.ask()
  let tidying: Promise<Tidied> | undefined
  // One that takes long is not overtaken by the next.
  const tidyOnce = () =>
    (tidying ??= tidied(host, stepsMax).finally(() => {
      tidying = undefined
    }))
  return {
    invoke: (caller, envelope, driving = {}) =>
      calls.count(() => {
        if (signal.aborted) throw closed()
        return invoke(host, readCall(envelope, caller, deps.ids, driving.run), driving)
      }),
    preview: (caller, envelope) => preview(deps, caller, envelope),
    discover: (caller, surface) => discover(deps.offer(), caller, surface),
    recorded: (caller, invocationId) => recordedResult(deps, caller, invocationId),
    waitingCall: (caller, envelope) => waitingCall(deps, caller, envelope),
    decide: (id, by, decision) => decideApproval(host, id, by, decision),
    pendingFor: (principal) => pendingFor(deps, principal),
    waitForDecision: (id, options) => waiting.wait(id, options),
    tidyUp: () => tidyOnce().finally(host.ask).finally(asking.none),
    tidyInTurn: () =>
      tidyOnce()
        .catch(() => undefined)
        .then(host.ask),
    underWay: () => host.running.size,
    isIdle: () =>
      [calls, asking].every((work) => work.isNone()) &&
      host.running.size + host.starting.size + host.late.size === 0 &&
      host.unrecorded.isEmpty(),
    close: async () => {
      waiting.close()
      closing.abort()
      await calls.none()
      // Those that nobody waits for go on alone.
      await Promise.allSettled(host.running.values())
      await inTime(tidying)
      // Whoever comes after this process knows nothing of how its calls ended.
      await inTime(reconcile(host))
      // What is not found out now is asked for by whoever comes next.
      await within(asking.none(), limits.reconcileMs, () => undefined)
    },
  }
}

function inTime(work: Promise<unknown> | undefined): Promise<unknown> {
  const ended = work?.catch(() => undefined)
  return within<unknown>(ended, closingMs, () => undefined)
}

async function tidied(host: Host, { forget, purge }: typeof stepsMax): Promise<Tidied> {
  const { deps, closing: signal } = host
  const work = [
    reconcile(host),
    expireApprovals(host),
    forgetExpired(deps, { max: forget, signal }),
    deps.retain({ max: purge, signal }),
  ] as const
  // What fails keeps nothing else from being done.
  await Promise.allSettled(work)
  const [interrupted, expired, , purged] = await Promise.all(work)
  return { interrupted, expired, purged }
}

const closed = (): Failure =>
  new Failure('host.closed', 'the host is closing', {}, 'retry later, or on another instance')

async function preview(deps: GatewayDeps, caller: CallCaller, envelope: unknown): Promise<CallPreview> {
  const call = readCall(envelope, caller, deps.ids)
  const requests = call.named
    ? await deps.store.read(() => approvalRecords.findByCall(deps.tenant, recordKey(call)))
    : []
  const attempt = new Attempt(deps, call, { requests })
  const scope = scopeGate(call)
  const stop = scope ? noteRefusal(attempt, scope) : await passGates(attempt)
  const matched_rules = attempt.basis.map(({ rule }) => rule)
  if (stop === undefined || 'settled' in stop) return { outcome: 'allowed', gate: null, denial: null, matched_rules }
  const { outcome, gate, denial } = stop
  return { outcome, gate: String(gateNumbers[gate]), denial: withoutNewRequest(denial, requests), matched_rules }
}

/** A preview asks nobody: the request that the call itself would make does not exist. */
function withoutNewRequest(denial: Denial, requests: readonly StoredApproval[]): Denial {
  const { approval_id: id, expires_at: _, ...details } = denial.details ?? {}
  if (id === undefined || requests.some(({ request }) => request.approval_id === id)) return denial
  const next = details['preview'] === undefined && { required_next_action: 'make the call: people are asked with it' }
  return { ...denial, details: { ...details, ...next } }
}

import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Denial } from '../model/wire/denial.ts'
import type { CallPreview } from '../model/wire/wire.ts'
import { gateNumbers } from '../policy/gates/refusal.ts'
import { approvalRecords, type StoredApproval } from '../storage/tables/approvals.ts'
import { type Decision, decideApproval } from './approvals/decide.ts'
import { type Decider, expireApprovals } from './approvals/desk.ts'
import { type NewEnvelope, openWaiting, pendingFor, waitingCall } from './approvals/queue.ts'
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

// As much as a busy host may have added since the last time; little at the start, which callers wait for.
const stepsMax = { forget: 200, purge: 10 }
const stepsAtStart = { forget: 1, purge: 1 }
const closingMs = 2_000

export type Gateway = Awaited<ReturnType<typeof openGateway>>

/** The one door to effects of one tenant. */
export async function openGateway(deps: GatewayDeps) {
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
  let tidying: ReturnType<typeof tidied> | undefined
  // One that takes long is not overtaken by the next.
  const tidyOnce = () =>
    (tidying ??= tidied(host, stepsMax).finally(() => {
      tidying = undefined
    }))
  return {
    /** Decides about a call and carries it out. Whatever comes of it is a result; only a malformed envelope is a failure. */
    invoke: (caller: CallCaller, envelope: unknown, driving: Driving = {}): Promise<Recorded> =>
      calls.count(() => {
        if (signal.aborted) throw closed()
        return invoke(host, readCall(envelope, caller, deps.ids, driving.run), driving)
      }),
    /** What would be decided now: all gates, no effect, no evidence. */
    preview: (caller: CallCaller, envelope: unknown) => preview(deps, caller, envelope),
    /** What this caller may call; for a run, of its surface alone. */
    discover: (caller: CallCaller, surface?: Surface) => discover(deps.offer(), caller, surface),
    /** The recorded result of the caller's own call, if its key is for the capability; `call.in_progress` while it runs. */
    recorded: (caller: CallCaller, invocationId: string) => recordedResult(deps, caller, invocationId),
    /** The id of this caller's own call like this one that people were asked about: for those who cannot repeat an id. */
    waitingCall: (caller: CallCaller, envelope: NewEnvelope) => waitingCall(deps, caller, envelope),
    decide: (approvalId: string, by: Decider, decision: Decision) => decideApproval(host, approvalId, by, decision),
    /** The requests that this person may decide about now, newest first. */
    pendingFor: (principal: string) => pendingFor(deps, principal),
    /** The request once it is decided, or the one that took its place; still pending when the time is up. */
    waitForDecision: waiting.wait,
    /** Ends what others left behind, and takes away what is kept no longer, as far as that does not take long. */
    tidyUp: () => tidyOnce().finally(host.ask).finally(asking.none),
    /** One turn of the timer of the process: never fails, and does not wait for capabilities that are asked. */
    tidyInTurn: (): Promise<void> =>
      tidyOnce()
        .catch(() => undefined)
        .then(host.ask),
    underWay: () => host.running.size,
    /** Whether it can be closed without losing anything: no call runs, and no outcome is left to be recorded. */
    isIdle: () =>
      [calls, asking].every((work) => work.isNone()) &&
      host.running.size + host.starting.size + host.late.size === 0 &&
      host.unrecorded.isEmpty(),
    close: async (): Promise<void> => {
      waiting.close()
      closing.abort()
      await calls.none()
      // Background calls run on, and are waited for here.
      await Promise.allSettled(host.running.values())
      await inTime(tidying)
      // The next process cannot know how the calls of this one ended.
      await inTime(reconcile(host))
      // The next process asks for what is not found out now.
      await within(asking.none(), limits.reconcileMs, () => undefined)
    },
  }
}

function inTime(work: Promise<unknown> | undefined): Promise<unknown> {
  const ended = work?.catch(() => undefined)
  return within<unknown>(ended, closingMs, () => undefined)
}

/** The interrupted calls that it ended, and how many requests expired and correlations were purged. */
async function tidied(host: Host, { forget, purge }: typeof stepsMax) {
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
  if (stop === undefined) return { outcome: 'allowed', gate: null, denial: null, matched_rules }
  const { outcome, gate, denial } = stop
  return { outcome, gate: String(gateNumbers[gate]), denial: withoutNewRequest(denial, requests), matched_rules }
}

/** A preview asks no approver: the request that the call itself would make does not exist. */
function withoutNewRequest(denial: Denial, requests: readonly StoredApproval[]): Denial {
  const { approval_id: id, expires_at: _, ...details } = denial.details ?? {}
  if (id === undefined || requests.some(({ request }) => request.approval_id === id)) return denial
  const next = details['preview'] === undefined && { required_next_action: 'make the call: people are asked with it' }
  return { ...denial, details: { ...details, ...next } }
}

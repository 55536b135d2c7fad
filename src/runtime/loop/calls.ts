import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import type { JsonObject } from '../../base/object.ts'
import { defined } from '../../base/object.ts'
import { parseTime } from '../../base/time.ts'
import { callKey } from '../../gateway/call.ts'
import { FactsChanged } from '../../gateway/events.ts'
import type { Additions, CallDemands, CallRun, RunBounds, RunTool, Surface } from '../../gateway/run.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import { answerOf, type ToolAnswer } from '../../runs/answer.ts'
import { neverEnds } from '../../storage/tables/budget-uses.ts'
import { askRevocations, readRevocation } from '../../storage/tables/runs/revocations.ts'
import type { Change } from '../../storage/work.ts'
import type { Traced } from '../trace.ts'
import type { CallUnderWay } from './authority.ts'
import { LegLost, Paused } from './endings.ts'
import type { Effect } from './plans/effect.ts'
import { bindTool } from './resource.ts'
import { inToolSpan } from './spans.ts'
import { agentUrnOf, originOf, type RunNode } from './tree.ts'

/** One call that a run makes. */
export interface RunCall {
  /** The same over all legs of the run: see `callIdAt`. */
  readonly callId: string
  /** As the model named it, or the capability's id. */
  readonly tool: string
  readonly capabilityId: string
  readonly payload: { readonly [member: string]: Json }
  /** What the model wrote in place of arguments. */
  readonly unreadable?: string | undefined
  /** What exists for the call; by default the surface of the run. */
  readonly surface?: Surface
  /** What stands behind it, where that is not the run's. */
  readonly bound?: RunTool
  /** Of a step that context packs govern. */
  readonly governed?: GovernedCall
  /** Of a call that starts a child: notes that it has begun. Its answer comes later, and is not noted here. */
  readonly noteBegun?: () => void
}

export interface GovernedCall {
  readonly demands: CallDemands
  /** What rules read as `evidence`, and the hash that an approval is bound to. */
  readonly evidence: Json
  readonly evidence_snapshot: string
  readonly policy_decision_id: string
  readonly effective: string
  /** Of a write. */
  readonly effect?: Effect
  /** What its events say beside what those of any call do. */
  readonly started: JsonObject
  readonly finished: (answer: ToolAnswer & { readonly idempotent_of?: string }) => JsonObject
}

/** The id of a call of a run, from the place that asks for it. */
export const callIdAt = ({ record: { run_id } }: RunNode, place: string): string =>
  run_id.replace('run', 'tool') + place

/** Makes one call through the gateway, whose events are written with it. Throws `Paused` while people are to decide. */
export const makeCall = (node: RunNode, call: RunCall): Promise<ToolAnswer> =>
  inToolSpan(node, call.tool, call.capabilityId, (span) => makeCallIn(span, node, call))

const attemptsMax = 4
const attemptsMost = 9

/** The same within a span that has begun. */
export async function makeCallIn(span: Traced, node: RunNode, call: RunCall): Promise<ToolAnswer> {
  for (let attempt = 1; ; attempt++) {
    const invocationId = attempt === 1 ? call.callId : `${call.callId}r${attempt - 1}`
    // Begun by a process that is gone, and without effect: it is made again, under an id of its own.
    const isAgain = (result: InvocationResult) => attempt < attemptsMax && wasInterrupted(node, call, result)
    await call.governed?.effect?.waitTurn(node.stopping)
    const result = await node.tree.authority.during(node, call.capabilityId, span, (under) =>
      invokeOnce(call, under, { invocationId, isAgain }),
    )
    if (isAgain(result)) continue
    const answer = answerTo(node, call, result)
    // Another call with the key was quicker: this one asks again, under an id of its own.
    if (answer.error?.code === 'call_in_flight' && attempt < attemptsMost) continue
    if (answer.status === 'paused') throw pausedBy(result)
    return answer
  }
}

/** The answer of the gateway; of an effect that took place before, what it came to then. */
const answerTo = (node: RunNode, call: RunCall, result: InvocationResult): ToolAnswer =>
  call.governed?.effect?.answer(result) ?? answerOf(result, hasEffects(node, call.capabilityId))

interface Attempt {
  readonly invocationId: string
  /** Whether a result is none yet, as the call is made again. */
  readonly isAgain: (result: InvocationResult) => boolean
}

async function invokeOnce(call: RunCall, under: CallUnderWay, { invocationId, isAgain }: Attempt) {
  const { node, signal } = under
  const { tree } = node
  let written: (() => void) | undefined
  let isNoted = false
  let isWithheld = false
  const effect = call.governed?.effect
  const writing = (noting: (isRevocationNew: boolean) => void, more: readonly Change[] = []): Additions => {
    written?.()
    const { change, done } = tree.journal.write({
      asking: (tenant) => askRevocations(tenant, tree.authority.lastKnown()),
      noting: (revocations) => {
        tree.authority.add(revocations.map(readRevocation))
        const isNew = tree.authority.lastKnown() > under.judgedBy
        under.judgedBy = tree.authority.lastKnown()
        noting(isNew)
      },
    })
    written = done
    return { changes: [change, ...more], events: [] }
  }
  const { capabilityId: capability_id, payload } = call
  const { governed } = call
  const metadata = governed && {
    metadata: { purpose: node.record.intent ?? '', evidence_snapshot: governed.evidence_snapshot },
  }
  const envelope = { capability_id, invocation_id: invocationId, payload, ...originOf(node.record), ...metadata }
  const { result } = await tree.host.gateway.invoke(tree.caller, envelope, {
    run: callRun(call, under),
    signal,
    onIntent: () =>
      writing((isRevocationNew) => {
        // What the gates rest on has changed: they are asked again.
        if (isRevocationNew) throw new FactsChanged()
        noteStart(node, call)
      }, effect && [effect.take]),
    onOutcome: (result) =>
      writing((isRevocationNew) => {
        isNoted = true
        isWithheld = isRevocationNew && tree.authority.isRevoked(under)
        noteResult(node, call, isWithheld ? withheld(result) : result, isAgain)
      }, effect?.settle(result)),
  })
  if (result.error?.code === 'outcome_not_recorded' && result.replayed !== true) throw new LegLost()
  written?.()
  // A repeat writes nothing by itself: how it ended goes with the next write.
  if (!isNoted) noteResult(node, call, result, isAgain)
  return isWithheld ? withheld(result) : result
}

/** A result that came after what it rests on was revoked: no model reads it. */
function withheld(result: InvocationResult): InvocationResult {
  const message = 'the grants of the call were revoked while it ran'
  const denial = { code: 'policy_blocked', message, retryable: false, details: { reason: 'grant_revoked' } } as const
  return { ...result, outcome: 'denied', success: false, data: null, error: null, denial }
}

/** A call that is made again was counted when it was made first. */
function noteStart({ tree, record: { run_id } }: RunNode, call: RunCall): void {
  const { callId, tool, payload, unreadable, governed } = call
  if (tree.journal.eventOf(run_id, callId, 'tool.started') !== undefined) return
  const said = { call_id: callId, tool, args: unreadable ?? payload, ...governed?.started }
  tree.journal.note(run_id, 'tool.started', said as { [member: string]: Json })
}

function noteResult(node: RunNode, call: RunCall, result: InvocationResult, isAgain: Attempt['isAgain']): void {
  const { tree, record } = node
  const answer = answerTo(node, call, result)
  if (answer.error?.code === 'call_in_flight') return
  const data = { call_id: call.callId, tool: call.tool }
  const waited = tree.journal.waitsOf(record.run_id).get(call.callId)
  if (answer.status === 'paused') {
    const { approval_id, expires_at = '', matched_rule } = result.denial?.details ?? {}
    const asked = {
      ...{ approval_id: String(approval_id), expires_at: String(expires_at) },
      ...(call.governed && {
        ...{ gate: String(matched_rule ?? ''), effective: call.governed.effective },
        evidence_snapshot: call.governed.evidence_snapshot,
      }),
    }
    if (waited !== asked.approval_id) {
      // A call that waits has begun: it is found by its place when the run goes on.
      if (call.governed) noteStart(node, call)
      tree.journal.note(record.run_id, 'approval.requested', { ...data, ...asked, capability_id: call.capabilityId })
    }
    return
  }
  if (waited !== undefined) noteResolved(node, data, waited)
  noteStart(node, call)
  if (isAgain(result)) return
  if (answer.status === 'ok' && call.noteBegun !== undefined) call.noteBegun()
  else noteAnswer(node, call, answer)
}

/** An approval that the call waits for no more, with what it was asked for. */
function noteResolved({ tree, record }: RunNode, data: { call_id: string; tool: string }, approval_id: string): void {
  const asked = tree.journal
    .eventsOf(record.run_id)
    .findLast(({ type, data: said }) => type === 'approval.requested' && said['approval_id'] === approval_id)?.data
  const { gate, effective, evidence_snapshot } = asked ?? {}
  const said = defined({ ...data, approval_id, gate, effective, evidence_snapshot })
  tree.journal.note(record.run_id, 'approval.resolved', said as { [member: string]: Json })
}

/** How a call of a run ended, as its events say it. */
export function noteAnswer(
  { tree, record }: RunNode,
  call: Pick<RunCall, 'callId' | 'tool' | 'governed'>,
  answer: ToolAnswer,
): void {
  const { status, output, error } = answer
  const own = { call_id: call.callId, tool: call.tool, status, output, error: error && { ...error } }
  const data = { ...own, ...call.governed?.finished(answer) }
  tree.journal.note(record.run_id, 'tool.finished', data as { [member: string]: Json })
}

function callRun(call: RunCall, under: CallUnderWay): CallRun & { readonly bounds: RunBounds } {
  const { node } = under
  const { tree, record, resolved } = node
  const bound = call.bound ?? bindTool(under)
  const holder = `${callKey(tree.rootId)}0`
  return {
    id: record.run_id,
    rootId: tree.rootId,
    agent: agentUrnOf(record),
    grants: record.grants,
    entry: entryOf(node, call),
    facts: factsOf(node, call),
    bounds: {
      surface: call.surface ?? resolved.capabilityIds,
      ...(call.governed && { demands: call.governed.demands }),
      ...(tree.governed && { policies: tree.governed.policies }),
      tools: new Map(bound && [[call.capabilityId, bound]]),
      isUnreadable: call.unreadable !== undefined,
      budgets: [{ place: { budget: 'run', holder, ...neverEnds }, limits: { calls: tree.root.limits.calls } }],
      deadlineMs: tree.deadlineMs,
      liveGrants: (nowMs) => {
        under.judgedBy = tree.authority.lastKnown()
        return tree.authority.liveGrants(node, nowMs)
      },
    },
  }
}

function entryOf({ resolved: { entry }, record }: RunNode, { governed, callId }: RunCall): CallRun['entry'] {
  if (governed === undefined) return entry
  const { policy_decision_id, effective } = governed
  return {
    ...entry,
    run_id: record.run_id,
    tool_call_id: callId,
    policy_decision_id,
    approval_mode_effective: effective,
  }
}

/** What rules read of the run: of a governed one what its packs were compiled with, and the evidence so far. */
function factsOf({ tree, record }: RunNode, { governed }: RunCall): CallRun['facts'] {
  const { run_id: id, depth, safety_mode, intent } = record
  const run = { id, root_id: tree.rootId, depth, safety_mode, tenant_id: record.tenant_id, intent }
  if (governed === undefined || tree.governed === undefined)
    return { run, user: record.subject as Json, agent: { id: record.agent_id, version: record.agent_version } }
  const { context, facts } = tree.governed
  const { agent_id, agent_urn, role = null } = context.agent
  return {
    ...{ run, user: context.user as Json, agent: { agent_id, agent_urn, role }, evidence: governed.evidence },
    request: { ...facts.request, context: facts.request.context ?? {} } as Json,
  }
}

function hasEffects({ tree }: RunNode, capabilityId: string): boolean {
  const { registry } = tree.host.deps.offer()
  const some = registry.versions(capabilityId).map((version) => registry.get(capabilityId, version))
  return some.some((each) => (each?.descriptor.side_effects ?? []).length > 0)
}

/** True for a call that a process left behind which is gone, and that has had no effect, as is known now, or can have none. */
function wasInterrupted(node: RunNode, { capabilityId }: RunCall, { error }: InvocationResult): boolean {
  if (!['interrupted', 'not_executed', 'outcome_not_recorded'].includes(error?.code ?? '')) return false
  return error?.effect === 'none' || !hasEffects(node, capabilityId)
}

function pausedBy({ denial }: InvocationResult): Paused {
  const until = denial?.details?.['expires_at']
  return new Paused((typeof until === 'string' ? parseTime(until) : undefined) ?? limits.requiredResultMs)
}

import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { parseTime } from '../../base/time.ts'
import { callKey } from '../../gateway/call.ts'
import { FactsChanged } from '../../gateway/events.ts'
import type { CallRun, Driving, RunBounds, RunTool, Surface } from '../../gateway/run.ts'
import type { InvocationResult } from '../../model/wire/result.ts'
import { answerOf, type ToolAnswer } from '../../runs/answer.ts'
import { neverEnds } from '../../storage/tables/budget-uses.ts'
import { askRevocations, readRevocation } from '../../storage/tables/revocations.ts'
import type { Traced } from '../trace.ts'
import { LegLost, Paused } from './endings.ts'
import { beginTool, endTool } from './spans.ts'
import { actorOf, agentUrnOf, correlationOf, type RunNode } from './tree.ts'

/** One call that a run makes. */
export interface RunCall {
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
  /** A child run is started, and answers later: how its call ended is then not noted. */
  readonly isChild?: boolean
  /** The span of the call, where one has begun already. */
  readonly span?: Traced
}

/** Makes one call through the gateway, whose events are written with it. Throws `Paused` while people are to decide. */
export async function makeCall(node: RunNode, call: RunCall): Promise<ToolAnswer> {
  if (call.span !== undefined) return (await callAgain(node, call, call.span)).answer
  const span = beginTool(node, call.tool, call.capabilityId)
  try {
    const { answer, scopes } = await callAgain(node, call, span)
    endTool(span, answer, scopes)
    return answer
  } catch (error) {
    span.end({}, error instanceof Paused ? undefined : 'interrupted')
    throw error
  }
}

const attemptsMax = 4

async function callAgain(node: RunNode, call: RunCall, span: Traced) {
  for (let attempt = 0; ; attempt++) {
    const invocationId = attempt === 0 ? call.callId : `${call.callId}r${attempt}`
    // Begun by a process that is gone, and without effect: it is made again, under an id of its own.
    const isAgain = (result: InvocationResult) => attempt + 1 < attemptsMax && wasInterrupted(node, call, result)
    const { result, scopes } = await invokeOnce(node, call, { invocationId, span, isAgain })
    if (isAgain(result)) continue
    const answer = answerOf(result, hasEffects(node, call.capabilityId))
    if (answer.status === 'paused') throw pausedBy(result)
    return { answer, scopes }
  }
}

interface Once {
  readonly invocationId: string
  readonly span: Traced
  /** Whether a result is none yet, as the call is made again. */
  readonly isAgain: (result: InvocationResult) => boolean
}

async function invokeOnce(node: RunNode, call: RunCall, { invocationId, span, isAgain }: Once) {
  const { tree, record } = node
  const noteStart = (): void => {
    // A call that is made again was counted when it was made first.
    if (tree.isStarted(record.run_id, call.callId)) return
    tree.note(record.run_id, 'tool.started', {
      call_id: call.callId,
      tool: call.tool,
      args: call.unreadable ?? call.payload,
    })
  }
  let written: (() => void) | undefined
  let isNoted = false
  let isWithheld = false
  const writing = (noting: (isNew: boolean) => void) => {
    written?.()
    const { change, done } = tree.journal.write({
      asking: (tenant) => askRevocations(tenant, tree.authority.lastKnown()),
      noting: (revocations) => {
        tree.authority.add(revocations.map(readRevocation))
        noting(revocations.length > 0)
      },
    })
    written = done
    return { changes: [change], events: [] }
  }
  const under = tree.authority.beginCall(node, invocationId, call.capabilityId, span.place)
  const driving: Driving = {
    run: callRun(node, call),
    signal: under.signal,
    onIntent: () =>
      writing((isRevocationNew) => {
        // What the gates rest on has changed: they are asked again.
        if (isRevocationNew) throw new FactsChanged()
        noteStart()
      }),
    onOutcome: (result) =>
      writing((isRevocationNew) => {
        isNoted = true
        isWithheld = isRevocationNew && tree.authority.isRevoked(node, call.capabilityId)
        noteResult(node, call, isWithheld ? withheld(result) : result, { noteStart, isAgain })
      }),
  }
  try {
    const { result } = await tree.host.gateway.invoke(tree.caller, envelopeOf(node, call, invocationId), driving)
    if (result.error?.code === 'outcome_not_recorded') throw new LegLost()
    written?.()
    // A repeat writes nothing by itself: how it ended goes with the next write.
    if (!isNoted) noteResult(node, call, result, { noteStart, isAgain })
    return { result: isWithheld ? withheld(result) : result, scopes: under.call.scopes }
  } finally {
    under.end()
  }
}

/** A result that came after what it rests on was revoked: no model reads it. */
function withheld(result: InvocationResult): InvocationResult {
  const message = 'the grants of the call were revoked while it ran'
  const denial = { code: 'policy_blocked', message, retryable: false, details: { reason: 'grant_revoked' } } as const
  return { ...result, outcome: 'denied', success: false, data: null, error: null, denial }
}

/** The work, done at most once. */
export function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

function noteResult(
  node: RunNode,
  call: RunCall,
  result: InvocationResult,
  { noteStart, isAgain }: Pick<Once, 'isAgain'> & { readonly noteStart: () => void },
): void {
  const { tree, record } = node
  const answer = answerOf(result, hasEffects(node, call.capabilityId))
  const data = { call_id: call.callId, tool: call.tool }
  const waited = tree.waitsOf(record.run_id).get(call.callId)
  if (answer.status === 'paused') {
    const approval = String(result.denial?.details?.['approval_id'] ?? '')
    if (waited === approval) return
    tree.note(record.run_id, 'approval.requested', {
      ...data,
      approval_id: approval,
      capability_id: call.capabilityId,
      expires_at: String(result.denial?.details?.['expires_at'] ?? ''),
    })
    return
  }
  if (waited !== undefined) tree.note(record.run_id, 'approval.resolved', { ...data, approval_id: waited })
  noteStart()
  if (call.isChild && answer.status === 'ok') return
  if (isAgain(result)) return
  tree.noteAnswer(node, call, answer)
}

function envelopeOf(node: RunNode, { capabilityId, payload }: RunCall, invocationId: string) {
  return {
    capability_id: capabilityId,
    invocation_id: invocationId,
    payload,
    correlation: correlationOf(node.record),
    actor: actorOf(node.record),
  }
}

function callRun(node: RunNode, call: RunCall): CallRun & { readonly bounds: RunBounds } {
  const { tree, record, resolved } = node
  const { limits: own } = tree.root
  const holder = callKey(tree.rootId)
  const tools = call.bound === undefined ? resolved.runTools(node) : new Map([[call.capabilityId, call.bound]])
  return {
    id: record.run_id,
    rootId: tree.rootId,
    agent: agentUrnOf(record),
    grants: record.grants,
    entry: resolved.entry,
    facts: {
      run: { id: record.run_id, root_id: tree.rootId, depth: record.depth, safety_mode: record.safety_mode },
      user: record.subject as Json,
      agent: { id: record.agent_id, version: record.agent_version },
    },
    bounds: {
      surface: call.surface ?? resolved.capabilityIds,
      tools,
      isUnreadable: call.unreadable !== undefined,
      budgets: [{ place: { budget: 'run', holder: `${holder}0`, ...neverEnds }, limits: { calls: own.calls } }],
      deadlineMs: tree.deadlineMs,
      liveGrants: (nowMs) => tree.authority.liveGrants(node, nowMs),
    },
  }
}

function hasEffects({ tree }: RunNode, capabilityId: string): boolean {
  const { registry } = tree.host.deps.offer()
  const some = registry.versions(capabilityId).map((version) => registry.get(capabilityId, version))
  return some.some((each) => (each?.descriptor.side_effects ?? []).length > 0)
}

/** True for a call that a process left behind which is gone, and that has had no effect, as is known now, or can have none. */
function wasInterrupted(node: RunNode, { capabilityId }: RunCall, { error }: InvocationResult): boolean {
  if (error?.code !== 'interrupted' && error?.code !== 'not_executed') return false
  return error.effect === 'none' || !hasEffects(node, capabilityId)
}

function pausedBy({ denial }: InvocationResult): Paused {
  const until = denial?.details?.['expires_at']
  return new Paused((typeof until === 'string' ? parseTime(until) : undefined) ?? limits.requiredResultMs)
}

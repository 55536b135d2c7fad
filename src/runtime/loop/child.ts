import { Failure } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { CommitWith } from '../../gateway/capability.ts'
import { type GrantRequest, parseGrants } from '../../grants/list.ts'
import { narrow } from '../../grants/mint.ts'
import type { Grant } from '../../model/grant.ts'
import { isEnded, type RunRecord } from '../../model/run.ts'
import { agentToolId } from '../../runs/agents.ts'
import type { ToolAnswer } from '../../runs/answer.ts'
import { narrowRequest } from '../../runs/pipeline.ts'
import { addRun, runInSession } from '../../storage/tables/runs/runs.ts'
import type { Work } from '../../storage/work.ts'
import type { Traced } from '../trace.ts'
import { makeCallIn, noteAnswer, type RunCall } from './calls.ts'
import { demandFree, readNames } from './conversation.ts'
import { LegLost } from './endings.ts'
import { agentFor, newRecord, openNode, startedData } from './record.ts'
import { demandResources } from './resource.ts'
import { beginRun, inToolSpan } from './spans.ts'
import type { RunNode } from './tree.ts'

/** What trusted code, a manifest or a model asks of a child. A model gives `input` alone. */
export interface ChildRequest extends Pick<RunCall, 'callId' | 'tool' | 'payload' | 'unreadable'> {
  readonly agentId: string
  /** Absent: all live grants of the parent. */
  readonly context?: unknown
  /** Literal suffixes below every inherited grant. */
  readonly narrow?: readonly string[] | undefined
  readonly sessionId?: string | undefined
  readonly contextIds?: readonly string[] | undefined
}

/** Starts a child and drives it to its end, or goes on with one that was started before. The one way to a child. */
export const runChild = (parent: RunNode, request: ChildRequest): Promise<ToolAnswer> =>
  inToolSpan(parent, request.tool, agentToolId(request.agentId), (span) => driveChild(parent, request, span))

async function driveChild(parent: RunNode, request: ChildRequest, span: Traced): Promise<ToolAnswer> {
  const { tree } = parent
  const known = tree.childOf(parent, request.callId)
  if (known !== undefined && isEnded(known.status)) return noteEnd(parent, request, known)
  const child = known === undefined ? await startChild(parent, request, span) : takeUpChild(parent, known, span)
  if ('status' in child) return child
  await tree.drive(child)
  return noteEnd(parent, request, child.record)
}

/** How a child ended, as the answer of the call that started it: on record once. */
function noteEnd(parent: RunNode, request: ChildRequest, record: RunRecord): ToolAnswer {
  const answer = answerOfRun(record)
  const noted = parent.tree.journal.eventOf(parent.record.run_id, request.callId, 'tool.finished')
  if (noted === undefined) noteAnswer(parent, request, answer)
  return answer
}

function takeUpChild(parent: RunNode, record: RunRecord, { place }: Traced): RunNode {
  const { nodes } = parent.tree
  const node = nodes.get(record.run_id) ?? openNode(parent.tree, record, parent, beginRun(record, place))
  nodes.set(record.run_id, node)
  return node
}

async function startChild(parent: RunNode, request: ChildRequest, span: Traced): Promise<RunNode | ToolAnswer> {
  const { tree } = parent
  let child: RunNode | undefined
  const answer = await makeCallIn(span, parent, {
    ...request,
    capabilityId: agentToolId(request.agentId),
    surface: () => true,
    bound: {
      handler: async () => {
        child = await prepareChild(parent, request, span)
        return addChild(child.record)
      },
    },
    noteBegun: () => child && tree.journal.note(child.record.run_id, 'run.started', startedData(child.record)),
  })
  if (answer.status !== 'ok') return answer
  // Another process has started it: this one does not drive the tree any more.
  if (child === undefined) throw new LegLost()
  tree.nodes.set(child.record.run_id, child)
  return child
}

function addChild(record: RunRecord): CommitWith {
  const { run_id, agent_id, session_id } = record
  return new CommitWith({ run_id }, function* (tenant): Work<void> {
    if (session_id !== null) {
      const [working = []] = yield [runInSession(tenant, agent_id, session_id)]
      demandFree(record, working[0])
    }
    yield [addRun(tenant, { record, private: {} }, null)]
  })
}

/** The child as it will be: its grants narrowed and its ceilings lowered, by the same two functions for every child. */
async function prepareChild(parent: RunNode, request: ChildRequest, { place }: Traced): Promise<RunNode> {
  const { tree, record } = parent
  const { deps } = tree.host
  const depth = record.depth + 1
  if (depth > limits.runDepthMax) throw new Failure('run.depth_exceeded', `depth \`${limits.runDepthMax}\` reached`)
  const names = await deps.store.read(() => readNames(deps.tenant, request.agentId, request))
  const input = request.payload['input'] ?? null
  const agent = await agentFor(tree.host, request.agentId, input)
  const live = tree.authority.liveGrants(parent)
  const wanted = requestOf(live, request)
  const ids = Array.from({ length: (wanted ?? live).length }, () => deps.ids.next('gr'))
  const grants = narrow(live, wanted, { mintedBy: `run:${record.run_id}`, ids })
  const { root_run_id, subject, trace_id, safety_mode } = record
  const made = newRecord(tree.host, agent, {
    ...{ root_run_id, subject, trace_id, safety_mode, depth, input },
    run_id: deps.ids.next('run'),
    parent_run_id: record.run_id,
    caused_by: request.callId,
    ...names,
    grants: [...grants],
  })
  const child = openNode(tree, made, parent, beginRun(made, place))
  demandResources(child)
  return child
}

function requestOf(
  live: readonly Grant[],
  { context, narrow: suffixes }: ChildRequest,
): readonly GrantRequest[] | undefined {
  if (suffixes !== undefined)
    return narrowRequest(
      live.map(({ path }) => path),
      suffixes,
    )
  return context === undefined ? undefined : parseGrants(context)
}

/** How a run ended, as the result of the call that started it. */
function answerOfRun({ status, result, error, run_id }: RunRecord): ToolAnswer {
  if (status === 'completed') return { status: 'ok', output: result, error: null }
  const { code, message } = error ?? { code: 'run_cancelled', message: `run \`${run_id}\` was cancelled` }
  return { status: 'failed', output: null, error: { code, message, retryable: false } }
}

import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import type { Ceilings } from '../../grants/ceilings.ts'
import type { EventDraft } from '../../model/evidence.ts'
import type { Grant } from '../../model/grant.ts'
import type { Subject } from '../../model/identity/subject.ts'
import type { RunRecord } from '../../model/run.ts'
import type { Agent } from '../agents/agent.ts'
import { resolveAgent } from '../agents/resolve.ts'
import type { Traced } from '../trace.ts'
import { cancelled, RunEnd } from './endings.ts'
import { noUsage, type RunNode, type RunTree } from './tree.ts'

export interface NewRun {
  readonly runId: string
  readonly rootId: string
  readonly parentId: string | null
  readonly causedBy: string | null
  readonly depth: number
  readonly tenant: string
  readonly subject: Subject
  readonly traceId: string
  readonly safetyMode: RunRecord['safety_mode']
  readonly grants: readonly Grant[]
  /** What the runs above leave of each kind. */
  readonly ceilings: Ceilings
  readonly input: Json
  readonly at: string
  readonly requestId: string | null
  readonly sessionId: string | null
  readonly contextIds: readonly string[]
}

/** The record of a run that begins: its surface follows from its agent, grants and ceilings. */
export const newRecord = ({ definition: { manifest } }: Agent, made: NewRun): RunRecord => ({
  ...{ run_id: made.runId, root_run_id: made.rootId, parent_run_id: made.parentId, caused_by: made.causedBy },
  ...{ depth: made.depth, tenant_id: made.tenant, subject: made.subject },
  ...{ agent_id: manifest.id, agent_version: manifest.version, request_id: made.requestId },
  ...{ session_id: made.sessionId, context_ids: [...made.contextIds], grants: [...made.grants] },
  ...{ ceilings: { ...made.ceilings }, modes: {}, surface: { tools: [], hidden: [] }, safety_mode: made.safetyMode },
  ...{ status: 'running', input: made.input, result: null, error: null, warnings: [], waits_for: [] },
  ...{ started_at: made.at, ended_at: null, trace_id: made.traceId, usage: noUsage },
})

/** A run of a tree, ready to be driven; what it may call is worked out anew from its grants and ceilings. */
export function openNode(tree: RunTree, record: RunRecord, parent: RunNode | undefined, span: Traced): RunNode {
  const agent = tree.host.agents().get(record.agent_id)
  const seed = Buffer.from(tree.root.fenceSeed, 'hex')
  const resolved = resolveAgent(tree.host.agents(), agent, record, seed)
  const { surface, modes } = resolved
  const ending = new AbortController()
  const node: RunNode = {
    ...{ tree, parent, agent, resolved, seed, span, session: undefined, ending },
    thinking: AbortSignal.any([ending.signal, tree.leaving.signal]),
    record: { ...record, status: 'running', waits_for: [], surface, modes: { ...modes } },
    usage: tree.usageOf(record.run_id),
  }
  const above = parent?.ending.signal
  if (above?.aborted) ending.abort(above.reason)
  if (tree.toCancel.has(record.run_id)) ending.abort(cancelled())
  above?.addEventListener('abort', () => ending.abort(above.reason), { once: true })
  return node
}

/** What the first event of a run says. Its authority is on its record and in its evidence. */
export const startedData = ({ parent_run_id, caused_by, agent_id: agent, agent_version, depth, input }: RunRecord) => ({
  ...{ agent, agent_version, depth, parent_run_id, caused_by, input },
})

/** What the evidence of a run says of how it began. */
export const startedPayload = (record: RunRecord): EventDraft['payload'] => ({
  ...{ run_id: record.run_id, parent_run_id: record.parent_run_id, agent: record.agent_id, depth: record.depth },
  grants: record.grants as unknown as Json,
  ...{ ceilings: record.ceilings, modes: record.modes, surface: record.surface as unknown as Json },
  safety_mode: record.safety_mode,
})

/** The result of a run, held against the schema of its agent. A model's text is read as JSON where that is asked for. */
export async function checkOutput({ agent }: RunNode, result: Json): Promise<Json> {
  if (agent.output === undefined) return result
  const value = typeof result === 'string' && agent.output.json['type'] !== 'string' ? jsonIn(result) : result
  const problem = await agent.output.check(value)
  if (problem === undefined) return value
  throw new RunEnd('output_invalid', `the result does not fit the output schema of the agent: ${problem}`)
}

function jsonIn(text: string): Json {
  try {
    return readJson(Buffer.from(text.replace(/^\s*```(?:json)?\s*|\s*```\s*$/g, ''))) as Json
  } catch {
    throw new RunEnd('output_invalid', 'the model answered something else than JSON')
  }
}

/** Holds the input of a run against the schema of its agent. */
export async function checkInput({ input, definition }: Agent, value: Json): Promise<void> {
  const problem = await input?.check(value)
  if (problem === undefined) return
  throw new Failure('args.invalid', `input of agent \`${definition.manifest.id}\`: ${problem}`, {
    agent: definition.manifest.id,
  })
}

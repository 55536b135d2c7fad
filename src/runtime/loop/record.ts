import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { formatTime } from '../../base/time.ts'
import { ceilingsBelow } from '../../grants/ceilings.ts'
import type { RunRecord } from '../../model/run.ts'
import { type Agent, agentOf } from '../agents/agent.ts'
import { resolveAgent } from '../agents/resolve.ts'
import type { Traced } from '../trace.ts'
import { cancelled, RunEnd } from './endings.ts'
import { noUsage, type RunHost, type RunNode, type RunTree } from './tree.ts'

/** A run that a caller starts, as it begins: a child has other places and limits. */
const begun = {
  parent_run_id: null,
  caused_by: null,
  depth: 0,
  safety_mode: 'network',
  request_id: null,
  ceilings: {},
  modes: {},
  surface: { tools: [], hidden: [] },
  status: 'running',
  result: null,
  error: null,
  compiled: null,
  mode: null,
  intent: null,
  decision: null,
  warnings: [],
  waits_for: [],
  ended_at: null,
  usage: noUsage,
} satisfies Partial<RunRecord>

type OfRun = 'run_id' | 'root_run_id' | 'subject' | 'trace_id' | 'session_id' | 'context_ids' | 'grants' | 'input'

/** The record of a run that begins. Its surface is worked out when it is opened. */
export const newRecord = (
  { deps: { tenant, clock } }: RunHost,
  { definition: { manifest } }: Agent,
  made: Pick<RunRecord, OfRun> & Partial<RunRecord>,
): RunRecord => ({
  ...begun,
  tenant_id: tenant,
  agent_id: manifest.id,
  agent_version: manifest.version,
  started_at: formatTime(clock.now()),
  ...made,
})

/** The agent of a run that is to begin with this input; fails where the input, or the config of a resource, does not fit. */
export async function agentFor({ agents }: RunHost, id: string, input: Json): Promise<Agent> {
  const agent = agents().get(id)
  const problem = await agent.input?.check(input)
  if (problem !== undefined) throw new Failure('args.invalid', `input of agent \`${id}\`: ${problem}`, { agent: id })
  await agents().configsOf(agent)
  return agent
}

/** A run of a tree, ready to be driven; what it may call is worked out anew from its grants and what its parent leaves it now. */
export function openNode(tree: RunTree, found: RunRecord, parent: RunNode | undefined, span: Traced): RunNode {
  const own = Object.entries(found.ceilings).map(([kind, mode]) => ({ kind, mode }))
  const record = { ...found, ceilings: { ...ceilingsBelow(parent?.resolved.ceilingsBelow ?? {}, own) } }
  const agents = tree.host.agents()
  // A run that packs drive has no manifest: its surface is what was compiled.
  const agent = record.mode === null ? agents.get(record.agent_id) : packAgent(record)
  const resolved = resolveAgent(agents, agent, record, tree.seed)
  const { surface, modes } = record.mode === null ? resolved : record
  const ending = new AbortController()
  const node: RunNode = {
    tree,
    parent,
    agent,
    resolved,
    span,
    session: undefined,
    ending,
    stopping: AbortSignal.any([ending.signal, tree.leaving.signal]),
    record: { ...record, status: 'running', waits_for: [], surface, modes: { ...modes } },
  }
  const above = parent?.ending.signal
  if (above?.aborted) ending.abort(above.reason)
  if (tree.toCancel.has(record.run_id)) ending.abort(cancelled())
  above?.addEventListener('abort', () => ending.abort(above.reason), { once: true })
  // A child is one of the tree once it is on record.
  if (parent === undefined) tree.nodes.set(record.run_id, node)
  return node
}

/** The agent of a run that packs drive: no more than its name. */
export const packAgent = ({
  agent_id: id,
  agent_version: version,
}: Pick<RunRecord, 'agent_id' | 'agent_version'>): Agent =>
  agentOf({ kind: 'tool', manifest: { id, version, kind: 'tool' } })

/** What the first event of a run says. Its authority is on its record and in its evidence. */
export function startedData({ agent_id: agent, agent_version, depth, parent_run_id, caused_by, input }: RunRecord) {
  return { agent, agent_version, depth, parent_run_id, caused_by, input }
}

/** What the evidence of a run says of how it began. */
export function startedEvent(record: RunRecord) {
  const { run_id, parent_run_id, agent_id: agent, depth, ceilings, modes, surface, safety_mode } = record
  const grants = record.grants as Json
  const payload = { run_id, parent_run_id, agent, depth, grants, ceilings, modes, surface, safety_mode }
  return { event_type: 'ambit.run.started', outcome: 'success', payload } as const
}

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
    return readJson(Buffer.from(text.trim().replace(/^```(?:json)?|```$/g, ''))) as Json
  } catch {
    throw new RunEnd('output_invalid', 'the model answered something else than JSON')
  }
}

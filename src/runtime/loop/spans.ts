import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import type { TraceParent } from '../../base/trace.ts'
import { isEnded, type RunRecord } from '../../model/run.ts'
import type { ToolAnswer } from '../../runs/answer.ts'
import type { RunResource } from '../../runs/surface.ts'
import type { Turn } from '../../runs/turn.ts'
import { beginSpan, type Traced } from '../trace.ts'
import { Paused } from './endings.ts'
import type { RunNode } from './tree.ts'

// Everything that spans of runs are named and told. Content is never among it.

/** A run, from its start or from where it is taken up to its next pause. */
export const beginRun = (
  { agent_id, run_id, depth }: Pick<RunRecord, 'agent_id' | 'run_id' | 'depth'>,
  parent: TraceParent | undefined,
): Traced =>
  beginSpan(`invoke_agent ${agent_id}`, parent, {
    attributes: {
      ...{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent_id },
      ...{ 'ambit.run.id': run_id, 'ambit.run.depth': depth },
    },
  })

/** Where a run lies in its trace when it is taken up: the span that it began with is gone. */
export const placeOfRun = ({ trace_id: traceId, run_id }: RunRecord): TraceParent => {
  return { traceId, spanId: run_id.slice('run_'.length), sampled: true }
}

export const endRun = ({ span, record: { status, error } }: RunNode): void =>
  span.end({ 'ambit.run.status': isEnded(status) ? status : 'paused' }, error?.code)

/** Makes one call of a tool or child in a span that says what it rests on, where that is a resource. */
export async function inToolSpan(
  node: RunNode,
  tool: string,
  capabilityId: string,
  work: (span: Traced) => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  const name = tool.slice(0, limits.toolNameCharsMax)
  const resource = node.resolved.tools.find((each) => each.capabilityId === capabilityId)?.resource
  const about = resource && authorityOf(node, resource)
  const span = beginSpan(`execute_tool ${name}`, node.span.place, {
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, ...about },
  })
  try {
    const answer = await work(span)
    span.end({ 'ambit.tool.status': answer.status }, answer.error?.code)
    return answer
  } catch (error) {
    span.end({}, error instanceof Paused ? undefined : 'interrupted')
    throw error
  }
}

export const beginTurn = ({ span }: RunNode, modelId: string): Traced =>
  beginSpan(`chat ${modelId}`, span.place, {
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': modelId },
  })

export const endTurn = (span: Traced, { inputTokens = 0, outputTokens = 0 }: Turn['usage']): void =>
  span.end({ 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens })

/** What a provider is asked for the first prompt. */
export const beginInjection = (node: RunNode, resource: RunResource): Traced =>
  beginSpan(`inject ${resource.name}`, node.span.place, { attributes: authorityOf(node, resource) })

/** What a resource of a run rests on. The surface is the digest that is in evidence. */
const authorityOf = ({ record, resolved }: RunNode, { name, kind, effective }: RunResource) =>
  defined({
    'ambit.resource': name,
    'ambit.resource.kind': kind,
    'ambit.resource.mode': effective,
    'ambit.ceiling': record.ceilings[kind],
    'ambit.grants': record.grants.map(({ id }) => id),
    'ambit.surface': resolved.entry.surface ?? undefined,
  })

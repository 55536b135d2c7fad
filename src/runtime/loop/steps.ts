import type { Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import type { PipelineDefinition } from '../../runs/definition.ts'
import { type FinishedStep, nextSteps, type StepStart } from '../../runs/pipeline.ts'
import { callIdAt } from './calls.ts'
import { runChild } from './child.ts'
import { allOrPause, RunEnd } from './endings.ts'
import type { RunNode } from './tree.ts'

/** Runs the steps of a pipeline, each as a child. What has finished is found by its place. */
export async function runSteps(node: RunNode): Promise<Json> {
  const definition = node.agent.definition as PipelineDefinition
  const finished: FinishedStep[] = []
  for (;;) {
    node.stopping.throwIfAborted()
    const move = nextSteps(definition, node.record.input, finished)
    if ('done' in move) return move.done
    if ('failed' in move) throw new RunEnd(move.failed.code, move.failed.message)
    finished.push(...(await allOrPause(move.start.map((step) => runStep(node, step)))))
  }
}

async function runStep(node: RunNode, { key, agent: agentId, input, narrow }: StepStart): Promise<FinishedStep> {
  // A key may have any letters, in either case.
  const callId = callIdAt(node, `s${sha256(key).slice(0, 16)}`)
  const { status, output, error } = await runChild(node, { callId, tool: key, agentId, payload: { input }, narrow })
  if (status === 'ok') return { key, output }
  return { key, error: { code: error?.code ?? status, message: `step \`${key}\`: ${error?.message ?? status}` } }
}

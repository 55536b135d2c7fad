import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from '../../base/canonical.ts'
import { Failure } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { limits } from '../../base/limits.ts'
import { copyEvent } from '../../evidence/copy.ts'
import type { Usage } from '../../model/run.ts'
import { costMicroCents, type ModelPrice } from '../../models/price.ts'
import { withRetries } from '../../models/retry.ts'
import { agentOf } from '../../runs/agents.ts'
import type { Prompt } from '../../runs/prompt.ts'
import { readTranscript } from '../../runs/transcript.ts'
import type { Message, Model, ToolCall, Turn, TurnRequest } from '../../runs/turn.ts'
import { callIdAt, makeCall, type RunCall } from './calls.ts'
import { runChild } from './child.ts'
import { allOrPause, RunEnd } from './endings.ts'
import { gatherPrompt } from './prompt.ts'
import { beginTurn, endTurn } from './spans.ts'
import { centsOf, type RunNode } from './tree.ts'

/** The loop of a model: a turn, the calls it asks for, and again, until it asks for none. Answers its last text. */
export async function runModel(node: RunNode): Promise<Json> {
  const prompt = await gatherPrompt(node)
  const { resolved, tree } = node
  const made = new Map<string, Message>()
  for (;;) {
    const events = tree.journal.eventsOf(node.record.run_id)
    const isPeer = (tool: string): boolean => agentOf(resolved.callable.get(tool)?.capabilityId ?? '') !== ''
    const { messages, unanswered, answer, turns } = readTranscript(events, { seed: tree.seed, isPeer, made })
    if (answer !== undefined) return answer
    if (unanswered.length > 0) await allOrPause(unanswered.map((call) => answerCall(node, call)))
    else await takeTurn(node, prompt, messages, turns)
  }
}

async function takeTurn(node: RunNode, prompt: Prompt, messages: readonly Message[], turns: number): Promise<void> {
  const { tree, record, resolved } = node
  if (turns >= limits.runTurnsMax)
    throw new RunEnd('run_turns_exceeded', `the model did not come to an end in ${limits.runTurnsMax} turns`)
  const request = { system: prompt.system, messages: [...prompt.messages, ...messages], tools: resolved.shown }
  const turn = await askModel(node, resolved.agents.modelOf(node.agent), request)
  const used = countUsage(turn.usage, resolved.agents.priceOf(node.agent))
  const { text, retries } = turn
  const calls = turn.calls.map(({ name, args }, index) => ({ id: callIdAt(node, `t${turns}c${index}`), name, args }))
  tree.journal.note(record.run_id, 'plan.proposed', { turn: turns, text, calls: calls as Json, retries, used })
}

/**
 * One turn of a model for a run: in a span, and tried again where it helps. Not taken once the run has cost enough; what
 * was `spent` counts that no event says yet.
 */
export async function askModel(
  node: RunNode,
  model: Model,
  request: Omit<TurnRequest, 'signal'>,
  spent: number | null = 0,
) {
  const { tree, stopping } = node
  stopping.throwIfAborted()
  checkCost(node, spent)
  const { clock } = tree.host.deps
  const limited = { retriesMax: limits.modelRetriesMax, deadlineMs: tree.deadlineMs, clock, sleep }
  const span = beginTurn(node, model.id)
  const turn = await withRetries(model, limited)
    .turn({ ...request, signal: stopping })
    .catch((error: unknown) => {
      span.end({}, error instanceof Failure && !stopping.aborted ? wireCode(error.code) : 'aborted')
      stopping.throwIfAborted()
      throw error
    })
  stopping.throwIfAborted()
  endTurn(span, turn.usage)
  return turn
}

async function answerCall(node: RunNode, { name: tool, id: callId, args }: ToolCall): Promise<void> {
  const capabilityId = node.resolved.callable.get(tool)?.capabilityId
  const agentId = agentOf(capabilityId ?? '')
  const asked = { callId, tool, ...readArguments(args) }
  if (agentId !== '') await runChild(node, { ...asked, agentId })
  // A name that the model was not given is asked for all the same: the denial is on record.
  else if (capabilityId === undefined)
    await makeCall(node, { ...asked, capabilityId: wireName(tool), surface: new Set() })
  else await makeCall(node, { ...asked, capabilityId })
}

/** Arguments as a call can take them, or the text that the model wrote instead. */
function readArguments(args: ToolCall['args']): Pick<RunCall, 'payload' | 'unreadable'> {
  if (typeof args === 'string') return { payload: {}, unreadable: args }
  try {
    return { payload: copyEvent(args, 'arguments', 2) }
  } catch {
    return { payload: {}, unreadable: JSON.stringify(args) }
  }
}

const wireName = (name: string): string => name.replace(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 256) || '_'

const sleep = (ms: number, signal: AbortSignal): Promise<void> => pause(ms, undefined, { signal })

/** What turns have used. Without a price the cost of the run is unknown from then on. */
export function countUsage(usage: Turn['usage'], price?: ModelPrice): Omit<Usage, 'tool_calls' | 'model_turns'> {
  const { inputTokens = 0, outputTokens = 0 } = usage
  const micro = costMicroCents(usage, price)
  return {
    ...{ input_tokens: inputTokens, output_tokens: outputTokens },
    cost_cents: micro === undefined ? null : centsOf(micro),
  }
}

/** Refuses another turn once the cost of the tree has reached its limit, or can no longer be held against one that was asked for. */
function checkCost({ tree }: RunNode, spent: number | null): void {
  const { costCents: most, isCostAsked } = tree.root.limits
  const known = tree.usageOf(tree.rootId).cost_cents
  const used = known === null || spent === null ? null : known + spent
  if (used === null && isCostAsked) throw new RunEnd('budget_cost', 'what the run has cost is not known any more')
  if (most !== null && used !== null && used >= most)
    throw new RunEnd('budget_cost', `the run has cost ${used} of ${most} cents`)
}

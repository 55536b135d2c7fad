import type { Json } from '../../../base/canonical.ts'
import { quote, shown } from '../../../base/failure.ts'
import { limits } from '../../../base/limits.ts'
import { defined, isObject } from '../../../base/object.ts'
import { countIn } from '../../../models/check-turn.ts'
import type { ModelPrice } from '../../../models/price.ts'
import type { PlanAnswer, Planner, PlanUsage } from '../../../runs/plan/planner.ts'
import { planByPlaybook } from '../../../runs/plan/playbook.ts'
import { type Progress, readProgress } from '../../../runs/plan/progress.ts'
import { readProposal } from '../../../runs/plan/proposal.ts'
import { RunEnd } from '../endings.ts'
import { countUsage } from '../llm.ts'
import type { RunNode } from '../tree.ts'
import type { Governed } from './governed.ts'
import { modelPlanner } from './model-planner.ts'
import { requestFor } from './plan-request.ts'

/** Asks for the next plan and notes it. A plan that there is not is noted as one that cannot be read. */
export async function propose(node: RunNode, governed: Governed): Promise<void> {
  const { tree, record } = node
  const progress = readProgress(tree.journal.eventsOf(record.run_id))
  const { strategy, planner, price } = choose(node, governed, progress)
  const { answer, problem } =
    typeof planner === 'string' ? { problem: planner } : await askInTime(node, governed, planner)
  const { run_id } = record
  const attempt = progress.plans.length
  const own = { plan_id: `plan_${run_id.slice(4)}${attempt}`, intent: governed.facts.request.intent }
  const read = problem === undefined ? readProposal(answer?.plan, own) : { problems: [problem] }
  const { usage, text } = answer ?? {}
  tree.journal.note(run_id, 'plan.proposed', {
    ...{ attempt, planner: strategy, ...(read as { readonly [member: string]: Json }) },
    ...(typeof text === 'string' && { text: text.toWellFormed().slice(0, limits.turnTextCharsMax) }),
    used: usedFor(usage, price),
  })
}

/** A planner that says nothing of it has used no model. */
function usedFor(usage: PlanUsage | undefined, price: ModelPrice | undefined) {
  if (!isObject(usage)) return { model_turns: 0, input_tokens: 0, output_tokens: 0, cost_cents: 0 }
  const [inputTokens, outputTokens, model_turns = 1] = [usage.inputTokens, usage.outputTokens, usage.turns].map(countIn)
  return { model_turns, ...countUsage(defined({ inputTokens, outputTokens }), price) }
}

/** What a run is planned by. Its strategy stands in records, so that no planner names it itself. */
interface Chosen {
  readonly strategy: string
  /** Or why there is none. */
  readonly planner: Planner | string
  readonly price?: ModelPrice | undefined
}

/** The planner that trusted code named, else the playbook where the intent has templates, else the model. */
function choose(node: RunNode, governed: Governed, progress: Progress): Chosen {
  const { tree } = node
  const agents = tree.host.agents()
  const name = tree.root.invoked?.planner ?? (governed.known.templates.length > 0 ? 'playbook' : 'model')
  if (name === 'playbook') return playbook(governed, progress)
  const found = agents.plannerOf(name)
  if (found === undefined) return { strategy: 'none', planner: `there is no planner ${quote(name)}` }
  const price = agents.priceOfModel(found.id)
  if ('plan' in found) return { strategy: 'scripted', planner: found, price }
  return { strategy: `model:${found.id}`, planner: modelPlanner(node, found, price), price }
}

function playbook({ facts, context, known }: Governed, progress: Progress): Chosen {
  const found = planByPlaybook({ progress, known, request: facts.request, context })
  if (found === undefined) return { strategy: 'playbook', planner: 'no template of the intent is eligible' }
  return { strategy: found.planner, planner: { id: 'playbook', plan: async () => ({ plan: found.plan }) } }
}

/** How long the planner of a run may take. */
export function planMs({ tree }: RunNode): number {
  const asked = tree.root.invoked?.request.runtime.plan_timeout_ms ?? limits.planMsMax
  return Math.max(limits.planMsMin, Math.min(limits.planMsMax, asked))
}

/** The answer of a planner, or why it gave none. One that is late is left where it is, and so is the run. */
async function askInTime(
  node: RunNode,
  governed: Governed,
  planner: Planner,
): Promise<{ readonly answer?: Partial<PlanAnswer>; readonly problem?: string }> {
  const { stopping, ending } = node
  const late = new RunEnd('plan_timeout', 'the planner did not answer in its time')
  const timer = setTimeout(() => ending.abort(late), planMs(node))
  try {
    stopping.throwIfAborted()
    const answer: unknown = await Promise.race([planner.plan(requestFor(node, governed)), abortOf(stopping)])
    return isObject(answer) ? { answer } : { problem: 'the planner answered nothing' }
  } catch (error) {
    stopping.throwIfAborted()
    if (error instanceof RunEnd) throw error
    return { problem: shown(error).message.slice(0, limits.errorCharsMax) }
  } finally {
    clearTimeout(timer)
  }
}

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))

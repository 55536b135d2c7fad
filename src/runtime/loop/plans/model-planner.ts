import type { ModelPrice } from '../../../models/price.ts'
import type { PlanAnswer, Planner, PlanRequest } from '../../../runs/plan/planner.ts'
import { planPrompt, repairMessages } from '../../../runs/plan/prompt.ts'
import { readProposal } from '../../../runs/plan/proposal.ts'
import type { Message, Model, Turn } from '../../../runs/turn.ts'
import { askModel, countUsage } from '../llm.ts'
import type { RunNode } from '../tree.ts'

/** A model that is asked for one plan as JSON, and once more where it wrote none. It has no tool to call. */
export function modelPlanner(node: RunNode, model: Model, price: ModelPrice | undefined): Planner {
  const plan = async (request: PlanRequest): Promise<PlanAnswer> => {
    const { system, messages } = planPrompt(request)
    const ask = (more: readonly Message[] = [], spent: number | null = 0): Promise<Turn> =>
      askModel(node, model, { system, messages: [...messages, ...more], tools: [] }, spent)
    const first = await ask()
    const problems = problemsIn(first, request)
    if (problems.length === 0) return answerOf(first)
    const { cost_cents } = countUsage(first.usage, price)
    // A turn that fails leaves the answer there is, with what it has used.
    const second = await ask(repairMessages(first.text, problems), cost_cents).catch(() => undefined)
    return answerOf(first, second)
  }
  return { id: model.id, plan }
}

/** Why a turn is no plan. */
function problemsIn(turn: Turn, { intent }: PlanRequest): readonly string[] {
  if (turn.calls.length > 0) return ['it calls a tool, and there is none to call']
  const read = readProposal(turn.text, { plan_id: 'plan_0', intent })
  return 'problems' in read ? read.problems : []
}

function answerOf(first: Turn, second?: Turn): PlanAnswer {
  const turns = second === undefined ? [first] : [first, second]
  return {
    plan: (second ?? first).text,
    usage: { turns: turns.length, ...sumOf('inputTokens', turns), ...sumOf('outputTokens', turns) },
  }
}

/** Of one that was not counted, the sum is not known. */
function sumOf(name: 'inputTokens' | 'outputTokens', turns: readonly Turn[]) {
  const counts = turns.map(({ usage }) => usage[name])
  return counts.includes(undefined) ? {} : { [name]: counts.reduce<number>((sum, count = 0) => sum + count, 0) }
}

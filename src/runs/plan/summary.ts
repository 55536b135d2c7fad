import { canonical, type Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { shortened } from '../../base/words.ts'
import { fence } from '../../fence/fence.ts'
import { asText } from '../template.ts'
import type { PlanRequest } from './planner.ts'
import { finishedSteps, isSentBack, type Progress } from './progress.ts'

/** How far a run is, for its planner. */
export function summarize(progress: Progress, seed: Uint8Array): Pick<PlanRequest, 'steps' | 'problems' | 'progress'> {
  const steps = finishedSteps(progress).map(({ step, call, answer: { status, output, error } }) => ({
    ...{ step, tool: call.capability_id, status, output: output ?? null },
    error: error && { code: error.code, message: error.message },
  }))
  const last = progress.plans.at(-1)
  const problems = last === undefined || !isSentBack(last) ? [] : problemsOf(last)
  const answers = steps.map(({ step, tool, status, output, error }) => {
    const said = shortened(error === null ? asText(output) : canonical(error), limits.planAnswerCharsMax)
    const { text } = fence({ element: 'ambit_data', origin: 'tool', name: tool, text: said, seed })
    return `Step ${step}, ${status}:\n${text}`
  })
  return {
    steps,
    problems,
    progress: [...answers, ...sentBack(last?.plan as Json | undefined, problems, seed)].join('\n\n'),
  }
}

/** What could not be read says so itself; of what was read the last verdict does. */
const problemsOf = ({ problems, verify, score }: Progress['plans'][number]): readonly string[] =>
  problems.length > 0 ? problems : (score?.reasons ?? verify?.reasons ?? [])

/** The problems name steps and repeat what tools have said: they are data, like the plan. */
function sentBack(plan: Json | undefined, problems: readonly string[], seed: Uint8Array): readonly string[] {
  if (problems.length === 0) return []
  const said = [...(plan === undefined ? [] : [canonical(plan)]), ...problems].join('\n')
  const { text } = fence({
    ...{ element: 'ambit_data', origin: 'message', name: 'the last plan', seed },
    text: shortened(said, limits.planAnswerCharsMax),
  })
  return [`The last plan was sent back. Make another one.\n${text}`]
}

import { canonical } from '../../base/canonical.ts'
import { disarm } from '../../fence/disarm.ts'
import { jsonSchemaOf } from '../../model/schemas.ts'
import type { Message } from '../turn.ts'
import type { PlanRequest } from './planner.ts'

/** What a model is asked for a plan with. It has no tool to call: what there is stands in the text. */
export function planPrompt({ compiled, tools, progress }: PlanRequest): {
  readonly system: string
  readonly messages: readonly Message[]
} {
  const { system, developer, task, context_blocks } = compiled.compiled_prompt
  const blocks = context_blocks.map(({ content }) => content)
  const asked = [task, tools === '' ? '' : `What can be called:\n\n${tools}`, progress]
  return {
    system: paragraphs([system, developer, instruction(), ...blocks]),
    messages: [{ role: 'user', content: paragraphs(asked) }],
  }
}

/** Asks for the same plan once more, with what was wrong with it. */
export const repairMessages = (text: string, problems: readonly string[]): readonly Message[] => [
  { role: 'assistant', content: text.trim() === '' ? '(no text)' : disarm(text).text, calls: [] },
  {
    role: 'user',
    content: `This is no plan: ${disarm(problems.join('; ')).text}. Answer with the corrected JSON alone.`,
  },
]

const paragraphs = (all: readonly string[]): string => all.filter((each) => each !== '').join('\n\n')

// Written once: it is the same for every run.
let written: string | undefined
const instruction = (): string =>
  (written ??= [
    'Answer with one plan as a JSON object and nothing else. You call nothing: each step is checked and carried out for you.',
    'A `tool` is the id of a capability. A parameter is a value, or `{"$expr": …}` in JsonLogic over request, run and steps,',
    'such as `{"$expr": {"var": "steps.a.output"}}`. Name the decision in `decision_checkpoints` after the last step it needs.',
    'Without one the plan is a part, and you are asked for the next. `plan_id` and `intent` are set for you.',
    `The JSON Schema of a plan: ${canonical(jsonSchemaOf('plan'))}`,
  ].join('\n'))

import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { problemText, type SchemaProblem } from '../../policy/schema/problems.ts'
import { type GateAnswer, type Resolved, sayMore } from '../attempt.ts'
import type { StandardSchema } from '../schema-like.ts'

/** Gate 5b of a run: its arguments are checked before its grants, which may depend on them. */
export function argumentsGate(attempt: Resolved): GateAnswer {
  const { run } = attempt.call
  if (run === undefined) return undefined
  if (!run.bounds?.isUnreadable) return checkInput('arguments', attempt)
  return refuse('arguments', 'input_schema_validation_failed', 'the arguments are no JSON object')
}

/** Gate 9: the payload against the input schema, then against whatever else a Standard Schema checks. */
export const inputGate = (attempt: Resolved): GateAnswer =>
  attempt.call.run === undefined ? checkInput('input', attempt) : undefined

function checkInput(gate: 'arguments' | 'input', attempt: Resolved): GateAnswer {
  const accept = (examined: Examined): Refusal | undefined => {
    if ('problems' in examined) return invalid(gate, examined.problems, attempt)
    attempt.input = examined.value
    return undefined
  }
  const examined = examine(attempt)
  return examined instanceof Promise ? examined.then(accept) : accept(examined)
}

export async function inputProblems(attempt: Resolved): Promise<readonly SchemaProblem[]> {
  const examined = await examine(attempt)
  return 'problems' in examined ? examined.problems : []
}

/** What the input schema makes of a payload, or where it refuses it. */
type Examined = { readonly value: unknown } | { readonly problems: readonly SchemaProblem[] }

function examine({ call, capability }: Resolved): Promise<Examined> | Examined {
  const problems = capability.checkInput(call.payload as Json)
  if (problems.length > 0) return { problems }
  const { validate } = capability.input
  return validate === undefined ? { value: call.payload } : standard(validate, structuredClone(call.payload))
}

function invalid(gate: 'arguments' | 'input', problems: readonly SchemaProblem[], attempt: Resolved): Refusal {
  const { path, keyword } = problems[0] ?? {}
  const details = { schema_id: `${attempt.call.capabilityId}:${attempt.version}#input`, path, keyword }
  const refusal = refuse(gate, 'input_schema_validation_failed', unfit, details)
  return sayMore(attempt, refusal, `: ${problemText(problems)}`)
}

export const unfit = 'the payload does not fit the input schema'

/** What a Standard Schema makes of a value, or where it refuses; never its message, which may quote the value. */
async function standard(validate: StandardSchema['~standard']['validate'], value: unknown): Promise<Examined> {
  try {
    const result = await validate(value)
    if (result.issues === undefined) return { value: result.value }
    return { problems: result.issues.map(({ path = [] }) => refined(pointerOf(path))) }
  } catch {
    // A check that cannot be made has not been passed.
    return { problems: [refined('')] }
  }
}

const refined = (path: string): SchemaProblem => ({
  path,
  keyword: 'refinement',
  says: `${path === '' ? 'it' : quote(path)} is not what the capability takes`,
})

const pointerOf = (path: readonly (PropertyKey | { readonly key: PropertyKey })[]): string =>
  path.map((part) => `/${String(typeof part === 'object' ? part.key : part)}`).join('')

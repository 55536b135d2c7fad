import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { type Refusal, refuse } from '../../policy/gates/refusal.ts'
import { problemText, type SchemaProblem } from '../../policy/schema/problems.ts'
import { type Attempt, sayMore } from '../attempt.ts'
import type { Call } from '../call.ts'
import type { GatewayDeps, Offer } from '../deps.ts'
import type { Registered } from '../registry.ts'
import type { StandardSchema } from '../schema-like.ts'

/** Gate 9: the payload against the input schema, then against whatever else a Standard Schema checks. */
export function inputGate(
  _: GatewayDeps,
  __: Offer,
  attempt: Attempt,
): Promise<Refusal | undefined> | Refusal | undefined {
  const { call, capability } = attempt
  if (capability === undefined) return undefined
  const checked = examine(capability, call.payload)
  return checked instanceof Promise ? checked.then((done) => taken(done, attempt)) : taken(checked, attempt)
}

/** What is wrong with the payload of a call. */
export async function inputProblems({
  call,
  capability,
}: Pick<Attempt, 'call' | 'capability'>): Promise<readonly SchemaProblem[]> {
  const examined = capability === undefined ? undefined : await examine(capability, call.payload)
  return examined !== undefined && 'problems' in examined ? examined.problems : []
}

/** What the input schema makes of a payload, or where it refuses it. */
type Examined = { readonly value: unknown } | { readonly problems: readonly SchemaProblem[] }

function examine(capability: Registered, payload: Call['payload']): Promise<Examined> | Examined {
  const problems = capability.checkInput(payload as Json)
  if (problems.length > 0) return { problems }
  const { validate } = capability.input
  return validate === undefined ? { value: payload } : standard(validate, structuredClone(payload))
}

function taken(examined: Examined, attempt: Attempt): Refusal | undefined {
  if ('problems' in examined) return invalid(examined.problems, attempt)
  attempt.input = examined.value
  return undefined
}

function invalid(problems: readonly SchemaProblem[], attempt: Attempt): Refusal {
  const { call, version } = attempt
  const refusal = refuse(9, 'input_schema_validation_failed', {
    message: unfit,
    details: {
      schema_id: `${call.capabilityId}:${version}#input`,
      path: problems[0]?.path,
      keyword: problems[0]?.keyword,
    },
  })
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

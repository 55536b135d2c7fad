import type { Json } from '../base/canonical.ts'
import { type Refusal, refuse } from '../policy/gates/refusal.ts'
import type { SchemaProblem } from '../policy/schema.ts'
import type { Attempt } from './attempt.ts'
import type { Call } from './call.ts'
import type { GatewayDeps, Offer } from './deps.ts'
import type { Registered } from './registry.ts'
import type { StandardSchema } from './schema-like.ts'

/** Gate 9: the payload against the input schema, then against whatever else a Standard Schema checks. */
export function inputGate(
  _: GatewayDeps,
  __: Offer,
  attempt: Attempt,
): Promise<Refusal | undefined> | Refusal | undefined {
  const { call, capability } = attempt
  if (capability === undefined) return undefined
  const checked = checkInput(capability, call.payload)
  return checked instanceof Promise ? checked.then((done) => taken(done, attempt)) : taken(checked, attempt)
}

/** What the input schema makes of a payload, or where it refuses it. */
export type CheckedInput = { readonly value: unknown } | { readonly problems: readonly SchemaProblem[] }

export function checkInput(capability: Registered, payload: Call['payload']): Promise<CheckedInput> | CheckedInput {
  const problems = capability.checkInput(payload as Json)
  if (problems.length > 0) return { problems }
  const { validate } = capability.input
  return validate === undefined ? { value: payload } : standard(validate, structuredClone(payload))
}

function taken(checked: CheckedInput, attempt: Attempt): Refusal | undefined {
  if ('problems' in checked) return invalid(checked.problems[0], attempt)
  attempt.input = checked.value
  return undefined
}

const invalid = (problem: SchemaProblem | undefined, { call, version }: Attempt): Refusal =>
  refuse(9, 'input_schema_validation_failed', {
    message: 'the payload does not fit the input schema',
    details: {
      schema_id: `${call.capabilityId}:${version}#input`,
      path: problem?.path,
      keyword: problem?.keyword,
    },
  })

/** What a Standard Schema makes of a value, or where it refuses; never its message, which may quote the value. */
async function standard(validate: StandardSchema['~standard']['validate'], value: unknown): Promise<CheckedInput> {
  try {
    const result = await validate(value)
    if (result.issues === undefined) return { value: result.value }
    return { problems: result.issues.map(({ path = [] }) => ({ path: pointerOf(path), keyword: 'refinement' })) }
  } catch {
    // A check that cannot be made has not been passed.
    return { problems: [{ path: '', keyword: 'refinement' }] }
  }
}

const pointerOf = (path: readonly (PropertyKey | { readonly key: PropertyKey })[]): string =>
  path.map((part) => `/${String(typeof part === 'object' ? part.key : part)}`).join('')

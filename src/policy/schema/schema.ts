import type { ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { JsonObject } from '../../base/object.ts'
import { Steps, StepsSpent } from '../../base/steps.ts'
import { type Counts, uniqueItems, withCounting, withKeywords } from './keywords.ts'
import { countSchema } from './parts.ts'
import { compilePattern } from './pattern.ts'
import { problemsOf, type SchemaProblem } from './problems.ts'

/** What is wrong with a value, which is itself `under` a place that paths begin with. */
type CheckSchema = (value: Json, under?: string) => SchemaProblem[]

/** A check of values against a JSON Schema (2020-12); a schema that is none, or is too much work, is refused. */
export function compileSchema(schema: JsonObject): CheckSchema {
  const decide = compiled(schema, { allErrors: false })
  // What is nested too deeply to be run, or leads back to itself, fails at any value.
  if (decide({}, limits.schemaProblemStepsMax) === 'too_deep') throw unusable(whyTooDeep(schema))
  let explain: Check | undefined
  return (value, under = '') => {
    const first = decideBySize(decide, value)
    if (first === undefined) return []
    if (isGivenUp(first)) return [{ path: under, keyword: 'steps', says: givenUp[first] }]
    explain ??= explained(schema)
    const all = explain(value, limits.schemaProblemStepsMax)
    return problemsOf(all === undefined || isGivenUp(all) ? first : all, under)
  }
}

/** The code that decides has each member inside the one before it, and the code that explains has not. */
const whyTooDeep = (schema: JsonObject): string =>
  explained(schema)({}, limits.schemaProblemStepsMax) === 'too_deep'
    ? 'it is nested too deeply, or leads back to itself'
    : 'it has too many members or choices in one place'

/** A large value may take more steps. How large it is, is asked only of those that need to know. */
function decideBySize(decide: Check, value: Json): ReturnType<Check> {
  const first = decide(value, limits.schemaStepsMax)
  if (first !== 'too_much') return first
  const stepsMax = JSON.stringify(value).length * limits.schemaStepsPerCharMax
  return stepsMax > limits.schemaStepsMax ? decide(value, stepsMax) : first
}

/** Finds all that is wrong, to tell the sender; it decides nothing. */
function explained(schema: JsonObject): Check {
  try {
    return compiled(schema, { allErrors: true })
  } catch {
    return () => 'too_much'
  }
}

/** As `compileSchema`, but compiled with the first value. A schema that is of no use then refuses every value. */
export function compileLater(schema: JsonObject): CheckSchema {
  checkForm(schema)
  let check: CheckSchema | string | undefined
  return (value, under = '') => {
    check ??= compiledOrFault(schema)
    return typeof check === 'string' ? [{ path: under, keyword: 'schema', says: check }] : check(value, under)
  }
}

export function schemaFault(schema: JsonObject): string | undefined {
  const made = compiledOrFault(schema)
  return typeof made === 'string' ? made : undefined
}

function compiledOrFault(schema: JsonObject): CheckSchema | string {
  try {
    return compileSchema(schema)
  } catch (error) {
    return (error instanceof Failure ? error : unusable()).message
  }
}

// Annotations of ours and formats are not checked; references reach no further than the schema itself.
const options = { strict: false, validateFormats: false, logger: false, ownProperties: true } as const
let meta: Ajv2020 | undefined

/** Refuses what is no JSON Schema (2020-12) by its form alone: much quicker than to compile it. */
function checkForm(schema: object): void {
  // Made when the first schema comes: it takes longer than all the rest of a start.
  meta ??= withKeywords(new Ajv2020(options), [uniqueItems()])
  try {
    if (meta.validateSchema(schema) === true) return
  } catch {
    throw unusable('it names a draft that is not known')
  }
  const place = meta.errors?.[0]?.instancePath ?? ''
  throw unusable(place === '' ? undefined : `${quote(place)} is not what JSON Schema knows there`)
}

/** What is wrong with a value, undefined if nothing; or why that is not known. */
type Check = (value: Json, stepsMax: number) => readonly ErrorObject[] | keyof typeof givenUp | undefined

const givenUp = {
  too_much: 'to check it takes too many steps',
  too_deep: 'to check it the schema goes too deep',
} as const

const isGivenUp = (found: NonNullable<ReturnType<Check>>): found is keyof typeof givenUp => typeof found === 'string'

function compiled(schema: JsonObject, how: { readonly allErrors: boolean }): Check {
  const counts = { steps: new Steps(), applied: new Steps(), parts: new Steps() }
  const validate = compiledBy(counts, schema, how)
  return (value, stepsMax) => {
    try {
      const factor = pathFactor(value)
      counts.steps.allow(stepsMax / factor)
      counts.applied.allow(limits.schemaAppliedStepsMax / factor)
      const found = validate(value) ? undefined : (validate.errors ?? [])
      validate.errors = null
      return found
    } catch (error) {
      return error instanceof StepsSpent ? 'too_much' : 'too_deep'
    }
  }
}

function compiledBy(counts: Counts, schema: JsonObject, how: { readonly allErrors: boolean }) {
  checkForm(schema)
  try {
    const counted = countSchema(schema)
    counts.parts.allow(limits.schemaPartsMax)
    counts.steps.allow(limits.patternStatesMax)
    // Each schema has a compiler of its own: two of them may use the same ids. What is inlined is compiled again.
    const ajv = new Ajv2020({
      ...options,
      ...how,
      meta: false,
      validateSchema: false,
      inlineRefs: false,
      messages: false,
      verbose: how.allErrors,
      code: { optimize: false, regExp: patternsOf(counts.steps) },
    })
    return withCounting(ajv, { ...counted, ...counts }).compile(counted.schema)
  } catch (error) {
    if (error instanceof StepsSpent || error instanceof RangeError) throw unusable('it is too large to be compiled')
    throw unusable(error instanceof Failure ? error.message : undefined)
  }
}

/** Patterns as the compiler asks for them: each once, and not too many. */
function patternsOf(steps: Steps) {
  const known = new Map<string, ReturnType<typeof compilePattern>>()
  const make = (source: string) => {
    const pattern = known.get(source) ?? compilePattern(source, steps)
    if (known.set(source, pattern).size > limits.schemaPatternsMax) throw new StepsSpent()
    return pattern
  }
  return Object.assign(make, { code: '' })
}

const unusable = (why?: string): Failure =>
  new Failure('field.invalid', `the schema is not a JSON Schema that can be used${why === undefined ? '' : `: ${why}`}`)

/** How many times longer than usual it takes to write the path of a value, as every part that is applied does. */
const pathFactor = (value: Json): number => 1 + (pathSteps(value) >> 4)

function pathSteps(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((most: number, item) => Math.max(most, pathSteps(item)), 0)
  let most = 0
  for (const [name, member] of Object.entries(value)) most = Math.max(most, nameSteps(name) + pathSteps(member))
  return most
}

const nameSteps = (name: string): number =>
  (name.length >> 4) + (/[~/]/.test(name) ? 4 * (name.split(/[~/]/).length - 1) : 0)

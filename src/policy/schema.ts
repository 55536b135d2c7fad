import { _, type CodeKeywordDefinition, type ErrorObject, type FuncKeywordDefinition } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { canonical, type Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { JsonObject } from '../base/object.ts'
import { Steps, StepsSpent } from '../base/steps.ts'
import { compilePattern } from './pattern.ts'
import { countSchema, stepsKeyword } from './schema-parts.ts'
import { problemsOf, type SchemaProblem } from './schema-problems.ts'

/** What is wrong with a value, which is itself `under` a place that paths begin with. */
type CheckSchema = (value: Json, under?: string) => SchemaProblem[]

/** A check of values against a JSON Schema (2020-12); a schema that is none, or is too much work, is refused. */
export function compileSchema(schema: JsonObject): CheckSchema {
  const decide = compiled(schema, { allErrors: false })
  let explain: Check | undefined
  return (value, under = '') => {
    const first = decide(value, limits.schemaStepsMax)
    if (first === undefined) return []
    if (first === 'too_much') return [{ path: under, keyword: 'steps', says: 'to check it takes too many steps' }]
    explain ??= explained(schema)
    const all = explain(value, limits.schemaProblemStepsMax)
    return problemsOf(all === undefined || all === 'too_much' ? first : all, under)
  }
}

/** Finds all that is wrong, which is told to whoever sent it and decides nothing. */
function explained(schema: JsonObject): Check {
  try {
    return compiled(schema, { allErrors: true })
  } catch {
    return () => 'too_much'
  }
}

/**
 * As `compileSchema`, but compiled when the first value comes: for schemas of others, of which there may be thousands.
 * Of one that then turns out to be of no use every value is a problem.
 */
export function compileLater(schema: JsonObject): CheckSchema {
  if (!hasSchemaForm(schema)) throw unusable()
  let check: CheckSchema | undefined
  return (value, under) => {
    check ??= compiledOrNot(schema)
    return check(value, under)
  }
}

function compiledOrNot(schema: JsonObject): CheckSchema {
  try {
    return compileSchema(schema)
  } catch (error) {
    const says = faultIn(error)
    return (_, under = '') => [{ path: under, keyword: 'schema', says }]
  }
}

/** Why a schema cannot be used; undefined if it can. */
export function schemaFault(schema: JsonObject): string | undefined {
  try {
    compileSchema(schema)
    return undefined
  } catch (error) {
    return faultIn(error)
  }
}

const faultIn = (error: unknown): string => (error instanceof Failure ? error : unusable()).message

// Annotations of ours and formats are not checked; references reach no further than the schema itself.
const options = { strict: false, validateFormats: false, logger: false } as const
let meta: Ajv2020 | undefined

/** True for a JSON Schema (2020-12) as far as its form goes: much quicker than to compile it. */
function hasSchemaForm(schema: object): boolean {
  // Made when the first schema comes: it takes longer than all the rest of a start.
  meta ??= withKeywords(new Ajv2020(options), [uniqueItems()])
  return meta.validateSchema(schema) === true
}

/** What is wrong with a value, undefined if nothing; or that it took more steps than it may. */
type Check = (value: Json, stepsMax: number) => readonly ErrorObject[] | 'too_much' | undefined

function compiled(schema: JsonObject, how: { readonly allErrors: boolean }): Check {
  const steps = new Steps()
  const validate = compiledBy(steps, schema, how)
  return (value, stepsMax) => {
    steps.allow(stepsMax)
    try {
      return validate(value) ? undefined : (validate.errors ?? [])
    } catch {
      // Its steps are spent; or the stack is full, as a schema applies itself to the same value again.
      return 'too_much'
    }
  }
}

function compiledBy(steps: Steps, schema: JsonObject, how: { readonly allErrors: boolean }) {
  if (!hasSchemaForm(schema)) throw unusable()
  try {
    const { schema: counted, parts } = countSchema(schema)
    if (parts > limits.schemaPartsMax) throw new StepsSpent()
    steps.allow(limits.patternStatesMax)
    // Each schema has a compiler of its own: two of them may use the same ids. What is inlined is compiled again.
    const ajv = new Ajv2020({
      ...options,
      ...how,
      validateSchema: false,
      inlineRefs: false,
      messages: false,
      verbose: how.allErrors,
      code: { optimize: false, regExp: patternsOf(steps) },
    })
    return withKeywords(ajv, [uniqueItems(steps), stepsOf(steps)]).compile(counted)
  } catch (error) {
    if (error instanceof StepsSpent) throw unusable('it is too large to be compiled')
    throw unusable(error instanceof Failure ? error.message : undefined)
  }
}

function withKeywords(ajv: Ajv2020, keywords: readonly (CodeKeywordDefinition | FuncKeywordDefinition)[]): Ajv2020 {
  for (const keyword of keywords) ajv.removeKeyword(keyword.keyword as string).addKeyword(keyword)
  return ajv
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

/** Counts what is done at every part of a schema, for every value it is applied to. */
function stepsOf(steps: Steps): CodeKeywordDefinition {
  const spend = (count: number, value: Json): void => steps.spend(Math.max(count, 1) + sizeOf(value))
  return {
    keyword: stepsKeyword,
    schemaType: 'number',
    code: ({ gen, schema, data }) => {
      gen.code(_`${gen.scopeValue('func', { ref: spend })}(${schema as number}, ${data})`)
    },
  }
}

/** How much of a value is looked at, but for what is in its members. */
function sizeOf(value: Json): number {
  if (typeof value === 'string') return value.length >> 2
  if (typeof value !== 'object' || value === null) return 0
  const { length } = Array.isArray(value) ? value : Object.keys(value)
  // The names of an object that has many are no longer kept as a list: it is made whenever they are walked.
  return length > namesListedMax && !Array.isArray(value) ? length * 32 : length
}

const namesListedMax = 1_000

/** Compares by what is written, so that a list takes as long as its text: to compare all pairs takes its square. */
function uniqueItems(steps?: Steps): FuncKeywordDefinition {
  const validate = (isAsked: boolean, list: readonly Json[]): boolean => {
    if (!isAsked) return true
    const texts = list.map((item) => {
      const text = canonical(item)
      steps?.spend(text.length)
      return text
    })
    return new Set(texts).size === texts.length
  }
  return { keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate }
}

const unusable = (why?: string): Failure =>
  new Failure('field.invalid', `the schema is not a JSON Schema that can be used${why === undefined ? '' : `: ${why}`}`)

import { _, type CodeGen, type CodeKeywordDefinition, type ErrorObject, type FuncKeywordDefinition, Name } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { resolveRef } from 'ajv/dist/compile/index.js'
import { canonical, type Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import type { Steps } from '../../base/steps.ts'
import { type CountedSchema, partSteps, stepsKeyword } from './parts.ts'

export interface Counts {
  /** To hold a value against a schema. */
  readonly steps: Steps
  /** Those of its parts alone, without what the size of a value adds: each may leave a problem behind, in memory. */
  readonly applied: Steps
  /** Of the schema, as they are compiled. */
  readonly parts: Steps
}

/** The compiler with keywords of ours in place of its own, all of which count what they do. */
export function withCounting(ajv: Ajv2020, how: CountedSchema & Counts) {
  ajv.opts.unevaluated = how.isCarrying
  return withKeywords(ajv, [
    countOf(how),
    referenceOf(ajv, how),
    equalOf('const', how.steps),
    equalOf('enum', how.steps),
    uniqueItems(how.steps),
    unevaluatedOf(ajv),
  ])
}

export function withKeywords(ajv: Ajv2020, keywords: readonly (CodeKeywordDefinition | FuncKeywordDefinition)[]) {
  for (const keyword of keywords) ajv.removeKeyword(keyword.keyword as string).addKeyword(keyword)
  return ajv
}

/** Counts every part of a schema when it is compiled, and again for every value it is held against. */
function countOf(how: CountedSchema & Counts): CodeKeywordDefinition {
  const { steps, applied, parts, isCarrying, isJoining, slowness } = how
  const spend = (count: number, value: Json): void => {
    applied.spend(count)
    steps.spend(count * slowness + sizeOf(value))
  }
  const share = sharedErrors(applied)
  return {
    keyword: stepsKeyword,
    schemaType: 'number',
    // The first of all: whatever fails leaves out what comes after it.
    before: '$dynamicAnchor',
    code: ({ gen, schema, parentSchema, data, it }) => {
      share(gen)
      // Every problem that a part can have is written with its whole path.
      const pathChars = it.errSchemaPath.length + it.errorPath.toString().length
      parts.spend(Math.floor((schema / partSteps) * (1 + (pathChars >> 9))))
      const carried = isCarrying && isJoining ? Object.keys(parentSchema['properties'] ?? {}).length * carriedSteps : 0
      gen.code(_`${gen.scopeValue('func', { ref: spend })}(${schema + carried}, ${data})`)
    },
  }
}

// Of each name, in lists that soon are too long to be quick.
const carriedSteps = 16

/** How much of a value is looked at, but for what is in its members. */
function sizeOf(value: Json): number {
  if (typeof value === 'string') return value.length >> 2
  if (typeof value !== 'object' || value === null) return 0
  const { length } = Array.isArray(value) ? value : Object.keys(value)
  // The names of an object that has many are no longer kept as a list: it is made whenever they are walked.
  return length > namesListedMax && !Array.isArray(value) ? length * 32 : length
}

const namesListedMax = 1_000

/** References as they are, but to nothing that could be applied uncounted: a value, or a map of parts. */
function referenceOf(ajv: Ajv2020, { isCounted, parts }: CountedSchema & Pick<Counts, 'parts'>): CodeKeywordDefinition {
  const { code } = ajv.getKeyword('$ref') as CodeKeywordDefinition
  return {
    keyword: '$ref',
    schemaType: 'string',
    before: 'type',
    code: (context) => {
      const { schemaEnv, baseId } = context.it
      const target = resolveRef.call(ajv, schemaEnv.root, baseId, context.schema)
      if (typeof target === 'object' && !isCounted(target.schema))
        throw new Failure('field.invalid', `${quote(context.schema)} refers to what is not a schema`)
      // The names that a part knows are written again wherever it is referred to.
      if (typeof target === 'object') parts.spend(Math.floor((target.schema[stepsKeyword] ?? 0) / partSteps / 8))
      code(context)
    },
  }
}

/** Looks names up among those that were looked at, where every object knows the names that all objects have. */
function unevaluatedOf(ajv: Ajv2020): CodeKeywordDefinition {
  const { code, ...definition } = ajv.getKeyword('unevaluatedProperties') as CodeKeywordDefinition
  const bare = (names: object | true | undefined) =>
    typeof names === 'object' ? Object.setPrototypeOf(names, null) : names
  return {
    ...definition,
    code: (context) => {
      const { gen, it } = context
      if (it.props instanceof Name) gen.assign(it.props, _`${gen.scopeValue('func', { ref: bare })}(${it.props})`)
      code(context)
    },
  }
}

/** Compares by what is written, once for all that is allowed: one by one takes the product of both. */
function equalOf(keyword: 'const' | 'enum', steps: Steps): FuncKeywordDefinition {
  const known = new Map<Json, (value: Json) => boolean>()
  const member = new Name(keyword === 'enum' ? 'allowedValues' : 'allowedValue')
  return {
    keyword,
    ...(keyword === 'enum' ? { schemaType: 'array' } : {}),
    before: 'not',
    errors: false,
    error: { message: '', params: ({ schemaCode }) => _`{${member}: ${schemaCode}}` },
    compile: (schema: Json) => {
      const isEqual = known.get(schema) ?? equalToAny(keyword === 'enum' ? (schema as Json[]) : [schema], steps)
      known.set(schema, isEqual)
      return isEqual
    },
  }
}

function equalToAny(allowed: readonly Json[], steps: Steps): (value: Json) => boolean {
  const plain = new Set(allowed.filter((value) => !hasMembers(value)))
  const written = new Set(allowed.filter(hasMembers).map(writtenOf))
  return (value) => {
    steps.spend(comparedSteps)
    if (!hasMembers(value)) return plain.has(value)
    return written.size > 0 && written.has(countedText(value, steps))
  }
}

// To look a value up takes longer than to apply a part that only compares numbers.
const comparedSteps = 4

const hasMembers = (value: Json): boolean => typeof value === 'object' && value !== null

/** Compares by what is written, so that a list takes as long as its text: to compare all pairs takes its square. */
export function uniqueItems(steps?: Steps): FuncKeywordDefinition {
  const validate = (isAsked: boolean, list: readonly Json[]): boolean =>
    !isAsked || new Set(list.map((item) => countedText(item, steps))).size === list.length
  return { keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate }
}

function countedText(value: Json, steps: Steps | undefined): string {
  const text = writtenOf(value)
  steps?.spend(writtenSteps + text.length * 2)
  return text
}

const writtenSteps = 8

/** The same text for the same value. What has no canonical form is never written as something that has one. */
function writtenOf(value: Json): string {
  try {
    return canonical(value)
  } catch {
    return JSON.stringify(value)
  }
}

/** Each is an object of its own up to so many; behind these, all but the last are the same. */
export const errorsKeptMax = 256

/** Makes compiled code keep few errors: it goes by their count, but all of them would take all the memory there is. */
export function sharedErrors(steps: Steps): (gen: CodeGen) => void {
  const known = new WeakSet<CodeGen>()
  const join = (errors: ErrorObject[] | null, more: ErrorObject[]): ErrorObject[] => {
    const all = errors ?? []
    steps.spend(more.length)
    for (const error of more) {
      share(all)
      all.push(error)
    }
    // The compiled code that found them keeps its list until its next call.
    more.length = 0
    return all
  }
  return (gen) => {
    if (known.has(gen)) return
    known.add(gen)
    const { const: constant, assign } = gen
    gen.const = (name, ...rest) => {
      const made = constant.call(gen, name, ...rest)
      if (name === 'err') gen.code(_`${gen.scopeValue('func', { ref: share })}(${list})`)
      return made
    }
    gen.assign = (name, value, ...rest) => {
      if (String(name) !== 'vErrors' || !String(value).includes('.concat('))
        return assign.call(gen, name, value, ...rest)
      // Where there are none yet, it takes the errors of the part as they are, and does not copy its own.
      const more = _`((${list}) => ${value})(null)`
      return assign.call(gen, name, _`${gen.scopeValue('func', { ref: join })}(${list}, ${more})`)
    }
  }
}

const list = new Name('vErrors')

function share(errors: ErrorObject[] | null): void {
  const shared = errors?.[errorsKeptMax - 1]
  if (errors && shared && errors.length > errorsKeptMax) errors[errors.length - 1] = shared
}

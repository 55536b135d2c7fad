import type { ErrorObject } from 'ajv'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { nearest } from '../../base/nearest.ts'
import { isObject } from '../../base/object.ts'
import { boundText, shortQuote, typesText, valuesText } from '../../base/words.ts'

/** Where a value fails its schema: a JSON Pointer and the keyword, and a sentence that never repeats the value. */
export interface SchemaProblem {
  readonly path: string
  readonly keyword: string
  readonly says: string
}

/** The first few problems in one sentence, and how many more there are. */
export function problemText(problems: readonly SchemaProblem[]): string {
  const said = [...new Set(problems.map(({ says }) => says))]
  const shown = said.slice(0, limits.schemaProblemsShownMax)
  const more = said.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/** What a validator found, at a value that itself is `under` a place; in its order, and each thing once. */
export const problemsOf = (errors: readonly ErrorObject[], under: string): SchemaProblem[] =>
  withoutParts(errors)
    .slice(0, limits.schemaProblemsMax)
    .map(({ error, parts }) => ({
      path: `${under}${error.instancePath}`,
      keyword: error.keyword,
      says: sentence(error, parts, `${under}${error.instancePath}`),
    }))

interface Whole {
  readonly error: ErrorObject
  /** What was found in the choices of it, or in the name that it refuses. */
  readonly parts: readonly ErrorObject[]
}

/** What was found on the way to another problem is a part of that. */
function withoutParts(errors: readonly ErrorObject[]): Whole[] {
  const wholes: Whole[] = []
  for (const error of errors) {
    let at = wholes.length
    while (at > 0 && isPartOf(wholes[at - 1]?.error, error)) at--
    const parts = wholes.splice(at).flatMap((each) => [...each.parts, each.error])
    wholes.push({ error, parts })
  }
  const said = wholes.filter(({ error }) => error.keyword !== 'if')
  return said.length > 0 ? said : wholes
}

function isPartOf(part: ErrorObject | undefined, { keyword, schemaPath, instancePath }: ErrorObject): boolean {
  if (part === undefined || !part.instancePath.startsWith(instancePath)) return false
  if (keyword === 'propertyNames') return part.propertyName !== undefined && part.keyword !== 'propertyNames'
  if (keyword !== 'anyOf' && keyword !== 'oneOf' && keyword !== 'contains') return false
  const beside = schemaPath.slice(0, -keyword.length)
  const isElsewhere = !part.schemaPath.startsWith(beside) || /^#\/(?:\$defs|definitions)\//.test(part.schemaPath)
  return part.schemaPath.startsWith(`${schemaPath}/`) || isElsewhere
}

function sentence(error: ErrorObject, parts: readonly ErrorObject[], path: string): string {
  const { keyword, params } = error
  const within = path === '' ? '' : ` in ${quote(path)}`
  const name = (key: string): string => shortQuote(String(params[key]))
  switch (keyword) {
    case 'required':
      return `${name('missingProperty')} is missing${within}`
    case 'dependentRequired':
    case 'dependencies':
      return `${name('missingProperty')} is missing${within}, as ${name('property')} is there`
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownMember(error, String(params['additionalProperty'] ?? params['unevaluatedProperty']), within)
    case 'propertyNames':
      return `${name('propertyName')} is not allowed as a name${within}`
    default:
      return `${path === '' ? 'it' : quote(path)} ${demand(error, parts)}`
  }
}

function unknownMember({ parentSchema, data }: ErrorObject, member: string, within: string): string {
  const members = parentSchema?.['properties']
  const free = isObject(members)
    ? Object.keys(members).filter((key) => !isObject(data) || !Object.hasOwn(data, key))
    : []
  const near = nearest(member, free)
  return `${shortQuote(member)} is not known${within}${near === undefined ? '' : ` (did you mean ${shortQuote(near)}?)`}`
}

function demand({ keyword, params }: ErrorObject, parts: readonly ErrorObject[]): string {
  switch (keyword) {
    case 'type':
      return `must be ${typesText([params['type']].flat())}`
    case 'enum':
      return `must be ${valuesText(params['allowedValues'])}`
    case 'const':
      return `must be ${valuesText([params['allowedValue']])}`
    case 'pattern':
      return `must match the pattern ${quote(String(params['pattern']))}`
    case 'anyOf':
    case 'oneOf':
      return choiceText(params, parts)
    default:
      return (
        demands[keyword]?.(Number(params['limit'] ?? params['multipleOf'])) ??
        `is not as the schema says (${shortQuote(keyword)})`
      )
  }
}

const demands: Readonly<Record<string, (limit: number) => string>> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  exclusiveMinimum: (limit) => `must be greater than ${limit}`,
  exclusiveMaximum: (limit) => `must be less than ${limit}`,
  multipleOf: (factor) => `must be a multiple of ${factor}`,
  minLength: (limit) => boundText('string', 'at least', limit),
  maxLength: (limit) => boundText('string', 'at most', limit),
  minItems: (limit) => boundText('array', 'at least', limit),
  maxItems: (limit) => boundText('array', 'at most', limit),
  minProperties: (limit) => boundText('object', 'at least', limit),
  maxProperties: (limit) => boundText('object', 'at most', limit),
  items: (limit) => boundText('array', 'at most', limit),
  unevaluatedItems: () => 'has more items than are known',
  contains: () => 'has too few or too many items of the kind that is asked for',
  uniqueItems: () => 'must not have the same item twice',
  not: () => 'is what the schema rules out',
  'false schema': () => 'is not allowed',
}

/** Where only the type is wrong, the types of all choices. */
function choiceText(params: ErrorObject['params'], parts: readonly ErrorObject[]): string {
  if (Array.isArray(params['passingSchemas'])) return 'fits more than one of its forms, where one is allowed'
  const isType =
    parts.length > 0 &&
    parts.every(({ keyword, instancePath }) => keyword === 'type' && instancePath === parts[0]?.instancePath)
  return isType
    ? `must be ${typesText(parts.flatMap((part) => part.params['type']))}`
    : 'fits none of the forms that are allowed'
}

import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined, isJsonObject, type JsonObject } from '../../base/object.ts'

/** The keyword that says how many steps it takes to hold a value against the part of a schema it stands in. */
export const stepsKeyword = 'x-ambit-steps'

export interface CountedSchema {
  /** The schema with `stepsKeyword` in every part that can be applied. */
  readonly schema: JsonObject
  readonly isCounted: (part: unknown) => boolean
  /** To know what nothing else has looked at, lists of names are carried along and joined at every part. */
  readonly isCarrying: boolean
  /** True if which names they are depends on the value. */
  readonly isJoining: boolean
  /** How many times as long as usual it takes to run what is compiled of it. */
  readonly slowness: number
}

export function countSchema(schema: JsonObject): CountedSchema {
  const text = JSON.stringify(schema)
  const isAsked = text.includes('"unevaluated')
  const isJoining = /"(?:anyOf|oneOf|if|dependentSchemas|dependencies|patternProperties|\$\w*[rR]ef)"/.test(text)
  const walk: Walk = { factor: isAsked && isJoining ? 4 : 1, counted: new Set(), choices: { max: 0 }, pathChars: 0 }
  return {
    schema: countPart(schema, walk) as JsonObject,
    isCounted: (part) => typeof part === 'boolean' || walk.counted.has(part as object),
    isCarrying: isAsked || walk.choices.max > nestedChoicesMax,
    isJoining,
    slowness: walk.counted.size > quickPartsMax ? 2 : 1,
  }
}

// Where no names are carried along, the code of each choice is inside that of the one before it.
const nestedChoicesMax = 100

// The platform does not make the code of more parts quicker, however often it runs.
const quickPartsMax = 150

interface Walk {
  /** How much more work than usual each part is. */
  readonly factor: number
  readonly counted: Set<object>
  /** Of the longest list of choices so far. */
  readonly choices: { max: number }
  /** Of the names and ids that lead here. */
  readonly pathChars: number
}

/** Keywords with members that are not keywords themselves. */
const mapKeywords: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions'],
  ...['dependentSchemas', 'dependentRequired', 'dependencies'],
])

/** Keywords that go on after a part that does not fit. At all others a part that never fits is the last that is looked at. */
const choiceKeywords: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'contains'])

/** Only an object can be counted. What never fits leaves an error; beside what always fits, nothing would be looked at. */
function asChoices(key: string, node: Json): Json {
  if (Array.isArray(node)) return node.map((choice) => asChoices(key, choice))
  if (node === false) return { not: {} }
  const isAlways = node === true || (isJsonObject(node) && Object.keys(node).length === 0)
  return key === 'anyOf' && isAlways ? { not: false } : node
}

function countPart(node: Json, walk: Walk): Json {
  if (Array.isArray(node)) return node.map((item) => countPart(item, walk))
  if (!isJsonObject(node)) return node
  const within = under(typeof node['$id'] === 'string' ? node['$id'] : '', walk)
  const members = Object.entries(defined(node)).flatMap(([key, value = null]): [string, Json][] => {
    // Such a schema would check values later, when no caller waits for the result.
    if (key === '$async') return []
    if (comparedKeywords.has(key)) return [[key, value]]
    if (key === 'anyOf' && Array.isArray(value)) walk.choices.max = Math.max(walk.choices.max, value.length)
    if (choiceKeywords.has(key)) return [[key, countPart(asChoices(key, value), under(key, within))]]
    return [[key, (mapKeywords.has(key) ? countMap : countPart)(value, under(key, within))]]
  })
  const steps = stepsOf(node) * walk.factor
  const part = Object.fromEntries(members.length === 0 ? [] : [...members, [stepsKeyword, steps]])
  walk.counted.add(part)
  return part
}

function countMap(node: Json, walk: Walk): Json {
  if (!isJsonObject(node)) return countPart(node, walk)
  const members = Object.entries(defined(node))
  return Object.fromEntries(members.map(([key, value = null]) => [key, countPart(value, under(key, walk))]))
}

/** Whatever is inside is compiled with its whole path, and with all ids on the way. */
function under(name: string, walk: Walk): Walk {
  const pathChars = walk.pathChars + name.length
  if (pathChars > limits.schemaPathCharsMax)
    throw new Failure(
      'field.invalid',
      `${quote(name)} makes a path longer than ${limits.schemaPathCharsMax} characters`,
    )
  return { ...walk, pathChars }
}

/** Every part makes a problem, and a problem takes room. */
export const partSteps = 8

/** What a part costs at each value, whatever the value: as much as it lists. Parts in it are counted on their own. */
const stepsOf = (part: JsonObject): number =>
  Object.entries(part).reduce((sum, [key, value = null]) => sum + listed(key, value), partSteps)

/** Their values are no parts, and however many there are, all are looked up at once. */
const comparedKeywords: ReadonlySet<string> = new Set(['enum', 'const'])
const listsOfNames: ReadonlySet<string> = new Set(['dependentRequired', 'dependencies'])

function listed(key: string, value: Json): number {
  if (typeof value !== 'object' || value === null || comparedKeywords.has(key)) return 1
  if (listsOfNames.has(key)) return entriesIn(value)
  return Object.keys(value).reduce((sum, name) => sum + 1 + (name.length >> 5), 0)
}

function entriesIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, item = null) => sum + entriesIn(item), 1)
}

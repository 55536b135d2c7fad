import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { isJsonObject, type JsonObject, memberOf } from '../base/object.ts'
import { unescapedKey } from '../base/pointer.ts'
import type { ContextContract } from '../model/context.ts'
import type { SchemaProblem } from './schema/problems.ts'
import { compileSchema } from './schema/schema.ts'

/** Where the fields of a context are looked for. `host` holds what the host has fetched, by resolver. */
export interface ContextSources {
  readonly payload: JsonObject
  readonly metadata: JsonObject
  readonly environment: string | undefined
  readonly host: JsonObject
}

export interface FieldState {
  readonly name: string
  readonly source: string
  readonly state: 'present' | 'absent' | 'invalid'
  readonly sensitive: boolean
  readonly evidence: 'value' | 'digest' | 'omit'
  readonly shown: boolean
  readonly value?: Json
}

/** The context of one call: one value for validation, rules, handler, approver and record. */
export interface CollectedContext {
  /** Every declared field that is there and good; frozen. */
  readonly value: Readonly<Record<string, Json>>
  readonly fields: readonly FieldState[]
  readonly missing: readonly string[]
  readonly problems: readonly SchemaProblem[]
  /** Members of `metadata.context` that no field is taken from. */
  readonly undeclared: readonly string[]
}

export type Contract = ReturnType<typeof compileContract>

export const noContext: CollectedContext = Object.freeze({
  value: Object.freeze({}),
  fields: [],
  missing: [],
  problems: [],
  undeclared: [],
})

/** Refuses untyped facts, sensitive values that evidence would keep, and an example that does not pass. */
export function compileContract(declared: ContextContract) {
  const fields = Object.entries(declared.fields).map(([name, field]) => compileField(name, field))
  const own = fields.filter(({ from, path }) => from === 'metadata' && path[0] === 'context')
  const taken = new Set(own.map(({ path }) => path[1]))
  // A field that is the whole of it says by its own schema which members there may be.
  const open = declared.closed === false || taken.has(undefined)
  const collect = (sources: ContextSources): CollectedContext => {
    const problems: SchemaProblem[] = []
    const states = fields.map((field) => stateOf(field, sources, problems))
    const given = sources.metadata['context']
    const named = (wanted: FieldState['state']) => states.filter(({ state }) => state === wanted)
    const required = new Set(fields.flatMap((field) => (field.required ? field.name : [])))
    return {
      value: Object.freeze(Object.fromEntries(named('present').map(({ name, value = null }) => [name, value]))),
      fields: states,
      missing: named('absent').flatMap(({ name }) => (required.has(name) ? name : [])),
      problems,
      undeclared: open || !isJsonObject(given) ? [] : Object.keys(given).filter((key) => !taken.has(key)),
    }
  }
  checkExample(declared, fields)
  return { declared, resolvers: fields.flatMap(({ from, path }) => (from === 'host' ? [path[0] ?? ''] : [])), collect }
}

type DeclaredField = ContextContract['fields'][string]

interface Field extends Omit<FieldState, 'state' | 'value'> {
  readonly from: string
  readonly path: readonly string[]
  readonly required: boolean
  readonly valueCharsMax: number
  readonly check: ReturnType<typeof compileSchema>
}

function compileField(name: string, field: DeclaredField): Field {
  const { source, schema, required = true, sensitive = false, evidence = 'digest' } = field
  const { value_chars_max: valueCharsMax = Number.POSITIVE_INFINITY, show_to_approver: shown = false } = field
  if (!narrows(schema))
    throw invalid(name, 'its schema allows anything: name a type with its members or items, an enum or a const')
  if (sensitive && evidence === 'value')
    throw invalid(name, 'it is sensitive, so evidence may keep a digest of it or nothing')
  const colon = source.indexOf(':')
  const [from, rest] = [source.slice(0, colon), source.slice(colon + 1)]
  const path = from === 'host' ? [rest] : rest.slice(1).split('/').map(unescapedKey)
  return { name, source, from, path, required, sensitive, evidence, valueCharsMax, shown, check: compileSchema(schema) }
}

/** True if a schema says something about the value: no rule can rely on an untyped fact. */
function narrows(schema: JsonObject): boolean {
  if (Array.isArray(schema['enum']) || schema['const'] !== undefined) return true
  const types = [schema['type']].flat().filter((type) => typeof type === 'string')
  if (types.length === 0) return false
  if (types.includes('object') && !hasMembers(schema['properties'])) return false
  return !types.includes('array') || isJsonObject(schema['items'])
}

const hasMembers = (value: Json | undefined): boolean => isJsonObject(value) && Object.keys(value).length > 0

/** What is found of a field; what is wrong with it goes to `problems`. */
function stateOf(field: Field, sources: ContextSources, problems: SchemaProblem[]): FieldState {
  const { name, source, sensitive, shown } = field
  const value = valueAt(field, sources)
  const isLong = typeof value === 'string' && value.length > field.valueCharsMax
  const evidence = isLong && field.evidence === 'value' ? 'digest' : field.evidence
  const base = { name, source, sensitive, evidence, shown }
  if (value === undefined) return { ...base, state: 'absent' }
  const found = field.check(value, `/${name}`)
  problems.push(...found)
  return found.length > 0 ? { ...base, state: 'invalid' } : { ...base, state: 'present', value: deepFreeze(value) }
}

function valueAt({ from, path }: Field, { payload, metadata, environment, host }: ContextSources): Json | undefined {
  if (from === 'correlation') return environment
  const root: Json = from === 'host' ? host : from === 'payload' ? payload : metadata
  return path.reduce<Json | undefined>(memberOf, root)
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}

function checkExample({ example, name }: ContextContract, fields: readonly Field[]): void {
  for (const field of fields) {
    const value = memberOf(example, field.name)
    if (value === undefined ? field.required : field.check(value).length > 0)
      throw invalid(field.name, 'the example does not have it, or not as its schema says')
  }
  const known = new Set(fields.map((field) => field.name))
  const unknown = Object.keys(example).find((key) => !known.has(key))
  if (unknown !== undefined)
    throw new Failure(
      'contract.invalid',
      `context ${quote(name)}: the example has ${quote(unknown)}, which is no field`,
      { field: unknown },
    )
}

const invalid = (field: string, why: string): Failure =>
  new Failure('contract.invalid', `context field ${quote(field)}: ${why}`, { field })

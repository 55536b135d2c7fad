import fc from 'fast-check'
import type { Json } from '../../src/base/canonical.ts'

/** The part of JSON Schema that our exported shapes use. */
export interface SchemaNode {
  readonly $ref?: string
  readonly const?: Json
  readonly enum?: readonly Json[]
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly type?: string | readonly string[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly examples?: readonly Json[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly items?: SchemaNode
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[]
  readonly propertyNames?: SchemaNode
  readonly additionalProperties?: SchemaNode | false
}

/** Values that a schema accepts. A text whose pattern cannot be generated from must bring `examples`. */
export const valuesOf = (schema: SchemaNode): fc.Arbitrary<Json> => values(schema, schema, 0)

// A shape that contains itself is unfolded this often; below that its optional members are left out.
const unfoldingsMax = 2

function values(node: SchemaNode, root: SchemaNode, depth: number): fc.Arbitrary<Json> {
  const options = node.anyOf ?? node.oneOf
  if (node.$ref !== undefined) return values(resolve(node.$ref, root), root, depth + 1)
  if (node.const !== undefined) return fc.constant(node.const)
  if (node.enum !== undefined) return fc.constantFrom(...node.enum)
  if (options !== undefined) return fc.oneof(...options.map((option) => values(option, root, depth)))
  if (typeof node.type === 'string') return valuesOfType(node.type, node, root, depth)
  if (node.type === undefined) return anyJson
  return fc.oneof(...node.type.map((type) => valuesOfType(type, node, root, depth)))
}

const anyJson = fc.constantFrom<Json>(null, false, 3, -0.5, '', 'text', '😀', [], [1, ['a']], {}, { a: { b: [null] } })

function valuesOfType(type: string, node: SchemaNode, root: SchemaNode, depth: number): fc.Arbitrary<Json> {
  switch (type) {
    case 'string':
      return texts(node)
    case 'integer':
      return integers(node)
    case 'number':
      return numbers(node)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(values(node.items ?? {}, root, depth), {
        minLength: node.minItems ?? 0,
        maxLength: Math.min(node.maxItems ?? 4, Math.max(node.minItems ?? 0, 4)),
      })
    case 'object':
      return objects(node, root, depth)
    default:
      throw new Error(`no generator for type \`${type}\``)
  }
}

function texts(node: SchemaNode): fc.Arbitrary<string> {
  const examples = (node.examples ?? []).filter((example) => typeof example === 'string')
  if (examples.length > 0) return fc.constantFrom(...examples)
  if (node.pattern !== undefined) return matching(node.pattern)
  return fc.string({ unit: 'binary', minLength: node.minLength ?? 0, maxLength: Math.min(node.maxLength ?? 12, 12) })
}

// Building one over a negated Unicode class takes half a second, and the same few patterns occur everywhere.
const built = new Map<string, fc.Arbitrary<string>>()

function matching(pattern: string): fc.Arbitrary<string> {
  const texts = built.get(pattern) ?? fc.stringMatching(new RegExp(pattern, 'u'))
  built.set(pattern, texts)
  return texts
}

function integers({ minimum = -100, maximum = 100 }: SchemaNode): fc.Arbitrary<number> {
  const edges = fc.constantFrom(minimum, maximum)
  return fc.oneof(edges, fc.integer({ min: minimum, max: Math.min(maximum, minimum + 1000) }))
}

function numbers({ minimum, exclusiveMinimum, maximum }: SchemaNode): fc.Arbitrary<number> {
  return fc.double({
    min: exclusiveMinimum ?? minimum ?? -1e9,
    max: maximum ?? 1e9,
    minExcluded: exclusiveMinimum !== undefined,
    noNaN: true,
  })
}

function objects(node: SchemaNode, root: SchemaNode, depth: number): fc.Arbitrary<Json> {
  const required = node.required ?? []
  const known = Object.entries(node.properties ?? {}).filter(([key]) => depth < unfoldingsMax || required.includes(key))
  const members = Object.fromEntries(known.map(([key, member]) => [key, values(member, root, depth)]))
  const record = fc.record(members, { requiredKeys: [...required], noNullPrototype: true })
  if (node.propertyNames === undefined) return record
  const names = texts(node.propertyNames).filter((name) => name !== '__proto__')
  const entries = fc.dictionary(names, values(node.additionalProperties || {}, root, depth), {
    maxKeys: 3,
    noNullPrototype: true,
  })
  return fc.tuple(entries, record).map(([loose, fixed]) => ({ ...loose, ...fixed }))
}

/** What a `$ref` inside this document names. */
export function resolve(ref: string, root: SchemaNode): SchemaNode {
  const found = ref
    .split('/')
    .slice(1)
    .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], root)
  if (!ref.startsWith('#') || found === undefined) throw new Error(`\`${ref}\` names nothing in this document`)
  return found as SchemaNode
}

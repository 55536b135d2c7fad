import type { Json } from '../base/canonical.ts'
import { isJsonObject } from '../base/object.ts'
import { escaped, type Marks } from './redact.ts'

/**
 * What a capability declares as sensitive: the `x-sensitive` places of its schema, further pointers of its context
 * contract, and everything from the classification `confidential` up. An unknown classification counts as one above.
 */
export function marksOf(declared: {
  readonly schema: Json
  readonly pointers?: Iterable<string>
  readonly classification?: string
  /** Members that are sensitive by the name under which the schema declares them. */
  readonly isNamed?: (name: string) => boolean
}): Marks {
  const { schema, isNamed = () => false } = declared
  const pointers = new Set(declared.pointers)
  collect({ schema, pointer: '', refs: [] }, { root: schema, pointers, isNamed })
  return { pointers, all: !openClasses.has(declared.classification?.toLowerCase() ?? 'public') }
}

const openClasses: ReadonlySet<string> = new Set(['public', 'internal'])

interface Place {
  readonly schema: Json | undefined
  readonly pointer: string
  /** The references followed to get here. */
  readonly refs: readonly string[]
}

interface Found {
  readonly root: Json
  readonly pointers: Set<string>
  readonly isNamed: (name: string) => boolean
}

function collect({ schema, pointer, refs }: Place, found: Found): void {
  if (!isJsonObject(schema)) return
  if (schema['x-sensitive'] === true) found.pointers.add(pointer)
  const visit = (inner: Json | undefined, at: string): void => collect({ schema: inner, pointer: at, refs }, found)
  for (const name of sameValue) for (const inner of listOf(schema[name])) visit(inner, pointer)
  for (const name of anyMember) for (const inner of listOf(schema[name])) visit(inner, `${pointer}/*`)
  for (const inner of valuesOf(schema['patternProperties'])) visit(inner, `${pointer}/*`)
  for (const inner of valuesOf(schema['dependentSchemas'])) visit(inner, pointer)
  for (const [name, inner] of Object.entries(isJsonObject(schema['properties']) ? schema['properties'] : {})) {
    if (found.isNamed(name)) found.pointers.add(`${pointer}/${escaped(name)}`)
    visit(inner, `${pointer}/${escaped(name)}`)
  }
  for (const name of ['$ref', '$dynamicRef']) follow(schema[name], { schema, pointer, refs }, found)
}

const sameValue = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']
const anyMember = [
  ...['items', 'prefixItems', 'contains', 'unevaluatedItems'],
  ...['additionalProperties', 'unevaluatedProperties'],
]

/** A reference that cannot be followed, or that comes round again, hides its whole value if anything is marked at all. */
function follow(ref: Json | undefined, { pointer, refs }: Place, found: Found): void {
  if (typeof ref !== 'string') return
  const target = refs.includes(ref) ? undefined : resolve(found.root, ref)
  if (target !== undefined) collect({ schema: target, pointer, refs: [...refs, ref] }, found)
  else if (JSON.stringify(found.root).includes('"x-sensitive":true')) found.pointers.add(pointer)
}

function resolve(root: Json, ref: string): Json | undefined {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  let node: Json | undefined = root
  for (const part of ref.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    node = typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined
  }
  return node
}

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]

const valuesOf = (value: Json | undefined): readonly (Json | undefined)[] =>
  isJsonObject(value) ? Object.values(value) : []

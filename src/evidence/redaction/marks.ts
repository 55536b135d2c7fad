import type { Json } from '../../base/canonical.ts'
import { unescapedKey } from '../../base/pointer.ts'
import { allMarked, type Marks, nothingMarked } from './redact.ts'
import { schemaMarks } from './schema-marks.ts'

/**
 * What a capability declares as sensitive: the `x-sensitive` places of its schema, further pointers of its context
 * contract, and everything from the classification `confidential` up. An unknown classification counts as one above.
 * Where it cannot be told whether something is marked, it is.
 */
export function marksOf(declared: {
  readonly schema: Json
  readonly pointers?: readonly string[]
  readonly classification?: string
  /** Members that are sensitive by the name under which the schema declares them. */
  readonly isNamed?: (name: string) => boolean
}): Marks {
  const { schema, pointers = [], classification = 'public', isNamed } = declared
  if (!openClasses.has(classification.toLowerCase())) return allMarked
  const mayMark = isNamed !== undefined || pointers.length > 0 || JSON.stringify(schema).includes('"x-sensitive":true')
  return mayMark ? schemaMarks(schema, pointers.map(markedAt), isNamed) : nothingMarked
}

const openClasses: ReadonlySet<string> = new Set(['public', 'internal'])

/** A schema that marks this place: `*` is any item or member, and a number may be that of an item. */
function markedAt(pointer: string): Json {
  const parts = pointer.split('/').slice(1)
  return parts.reduceRight<Json>(
    (inner, part) => {
      if (part === '*') return { additionalProperties: inner, items: inner }
      const name = unescapedKey(part)
      return { properties: { [name]: inner }, ...(/^\d+$/.test(name) && { items: inner }) }
    },
    { 'x-sensitive': true },
  )
}

import type { Json } from '../../base/canonical.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { at, type OpenApi } from './document.ts'
import { keywordsOf, type Side } from './keywords.ts'

export type Schemas = ReturnType<typeof openSchemas>

interface Converted {
  readonly schema: JsonObject
  readonly refs: ReadonlySet<string>
  readonly chars: number
}

/** Schemas of a document as JSON Schema 2020-12: one converter per document and side, as each part is converted once. */
export function openSchemas(api: OpenApi, side: Side) {
  const nameOf = naming()
  const parts = new Map<string, Converted>()
  const convert = (schema: Json | undefined): Converted => {
    const refs = new Set<string>()
    const refer = (ref: string): JsonObject => {
      if (at(api.root, ref) === undefined) return {}
      refs.add(ref)
      return { $ref: `#/$defs/${nameOf(ref)}` }
    }
    const made = keywordsOf(schema, { api, side, refer })
    return { schema: made, refs, chars: JSON.stringify(made).length }
  }
  const part = (ref: string): Converted => {
    const known = parts.get(ref) ?? convert(at(api.root, ref))
    parts.set(ref, known)
    return known
  }
  return {
    /** The schema as JSON Schema, with all it refers to; what would make it too large is left open, and `isCut` says so. */
    whole: (schema: Json | undefined): { readonly schema: JsonObject; readonly isCut: boolean } => {
      const root = convert(schema)
      if (root.chars > limits.importedSchemaCharsMax * 4) return { schema: {}, isCut: true }
      const { defs, isCut } = collect(root, part, nameOf)
      const $defs = Object.keys(defs).length > 0 && { $defs: defs }
      return { schema: { ...root.schema, ...$defs }, isCut }
    },
  }
}

/** All that a schema refers to, nearest first, until it is too much: what then comes is open. */
function collect(root: Converted, part: (ref: string) => Converted, name: (ref: string) => string) {
  const defs: Record<string, Json> = {}
  const seen = new Set(root.refs)
  let chars = root.chars
  let isCut = false
  // Grows while it is walked.
  for (const ref of seen) {
    const { schema, refs, chars: more } = part(ref)
    const fits = chars + more <= limits.importedSchemaCharsMax
    defs[name(ref)] = fits ? schema : {}
    isCut ||= !fits
    if (!fits) continue
    chars += more
    for (const next of refs) seen.add(next)
  }
  for (const key of Object.keys(defs).filter((key) => isEndless(key, defs))) {
    defs[key] = {}
    isCut = true
  }
  return { defs, isCut }
}

/** True if a schema applies itself to the same value again: who checks by it never comes to an end. */
function isEndless(key: string, defs: Readonly<Record<string, Json>>): boolean {
  const seen = new Set(appliedBy(defs[key]))
  // Grows while it is walked.
  for (const next of seen) for (const further of appliedBy(defs[next])) seen.add(further)
  return seen.has(key)
}

const inPlace = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else']

/** What a schema refers to for the same value, not for a part of it. */
function appliedBy(schema: Json | undefined): string[] {
  if (!isJsonObject(schema)) return []
  const { $ref } = schema
  const inner = inPlace.flatMap((key) => [schema[key] ?? []].flat() as Json[])
  return [...(typeof $ref === 'string' ? [$ref.slice('#/$defs/'.length)] : []), ...inner.flatMap(appliedBy)]
}

/** The last part of a reference, unless another has it already. */
function naming(): (ref: string) => string {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const taken = new Set<string>()
  return (ref) => {
    const known = names.get(ref)
    if (known !== undefined) return known
    const last = ref.slice(ref.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_.-]/g, '_')
    let count = counts.get(last) ?? 1
    let name = count === 1 ? last : `${last}_${count}`
    while (taken.has(name)) name = `${last}_${++count}`
    counts.set(last, count)
    taken.add(name)
    names.set(ref, name)
    return name
  }
}

import type { Json } from '../../base/canonical.ts'
import { type JsonObject, memberOf } from '../../base/object.ts'
import { unescapedKey } from '../../base/pointer.ts'

/** What the reference in a part of the schema stands for; undefined if that cannot be told. */
export type Resolve = (part: JsonObject, keyword: '$ref' | '$dynamicRef' | '$recursiveRef') => Json | undefined

/** Follows references inside a schema, by pointer, by anchor and by the ids of its parts. */
export function resolverOf(root: Json): Resolve {
  let index: Index | undefined
  return (part, keyword) => {
    index ??= indexOf(root)
    const ref = part[keyword]
    // With ids inside, what a dynamic reference stands for depends on the way that led to it.
    if (typeof ref !== 'string' || (keyword !== '$ref' && index.isSplit)) return undefined
    const [, address = '', fragment = ''] = /^([^#]*)#?(.*)$/s.exec(ref) ?? []
    const base = uriOf(address, index.bases.get(part) ?? rootUri)
    if (fragment !== '' && !fragment.startsWith('/')) return index.named.get(`${base}#${fragment}`) ?? undefined
    return memberAt(index.named.get(base) ?? undefined, fragment)
  }
}

interface Index {
  /** The URI that counts where an object stands. */
  readonly bases: Map<Json, string>
  /** By URI, with the anchor if it has one; null for what several have. */
  readonly named: Map<string, Json>
  /** True if parts of it have ids of their own. */
  isSplit: boolean
}

const rootUri = 'schema:/'

function indexOf(root: Json): Index {
  const index: Index = { bases: new Map(), named: new Map([[rootUri, root]]), isSplit: false }
  const name = (uri: string, node: Json): void => {
    index.named.set(uri, index.named.has(uri) && index.named.get(uri) !== node ? null : node)
  }
  const todo: [Json | undefined, string][] = [[root, rootUri]]
  for (const [node, outer] of todo) {
    if (typeof node !== 'object' || node === null || index.bases.has(node)) continue
    const { $id, $anchor, $dynamicAnchor } = node as JsonObject
    const base = typeof $id === 'string' ? uriOf($id.replace(/#$/, ''), outer) : outer
    index.bases.set(node, base)
    if (typeof $id === 'string') {
      index.isSplit ||= node !== root
      name(base, node)
    }
    for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === 'string') name(`${base}#${anchor}`, node)
    for (const inner of Object.values(node)) todo.push([inner, base])
  }
  return index
}

const uriOf = (address: string, base: string): string =>
  address === '' ? base : (URL.parse(address, base)?.href ?? 'unknown:')

function memberAt(from: Json | undefined, pointer: string): Json | undefined {
  const parts = pointer.split('/').slice(1)
  try {
    return parts.map((part) => unescapedKey(decodeURIComponent(part))).reduce(memberOf, from)
  } catch {
    // What is no escape names nothing.
    return undefined
  }
}

import type { Json } from '../../base/canonical.ts'
import { isJsonObject } from '../../base/object.ts'
import { headerKeyword, headerMembers, isHeaderName } from '../../model/config/param-headers.ts'

/**
 * True if all that a schema wants repeated as headers can be: names of headers, each once, at plain members that are
 * reached by name alone. A tool that wants something else must not be offered.
 */
export function hasUsableHeaders(schema: Json | undefined): boolean {
  const wanted = headerMembers(schema)
  const names = wanted.map(({ header }) => String(header).toLowerCase())
  return (
    wanted.every(({ header, type }) => isHeaderName(header) && plain.has(type)) &&
    new Set(names).size === names.length &&
    mentions(schema) === wanted.length
  )
}

const plain: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

function mentions(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value).reduce<number>((sum, one) => sum + mentions(one as Json), 0)
  return inner + (isJsonObject(value) && headerKeyword in value ? 1 : 0)
}

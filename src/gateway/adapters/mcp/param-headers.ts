import type { Json } from '../../../base/canonical.ts'

type Members = { readonly [name: string]: Json | undefined }

const key = 'x-mcp-header'
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/**
 * True if all that a schema wants repeated as headers can be: names of headers, each once, at plain members that are
 * reached by name alone. A tool that wants something else must not be offered.
 */
export function hasUsableHeaders(schema: Json | undefined): boolean {
  const wanted = plainMembers(schema).filter((member) => key in member)
  const names = wanted.map((member) => String(member[key]).toLowerCase())
  return (
    wanted.every(({ type, [key]: name }) => typeof name === 'string' && token.test(name) && plain.has(type)) &&
    new Set(names).size === names.length &&
    mentions(schema) === wanted.length
  )
}

const plain: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

const isObject = (value: Json | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function plainMembers(schema: Json | undefined): readonly Members[] {
  const properties = isObject(schema) ? schema['properties'] : undefined
  if (!isObject(properties)) return []
  return Object.values(properties)
    .filter(isObject)
    .flatMap((member) => [member, ...plainMembers(member as Json)])
}

function mentions(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value as Members).reduce<number>((sum, one) => sum + mentions(one), 0)
  return inner + (isObject(value) && key in value ? 1 : 0)
}

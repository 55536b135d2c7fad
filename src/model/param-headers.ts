import type { Json } from '../base/canonical.ts'

type Members = { readonly [name: string]: Json | undefined }

/** The keyword of MCP by which a schema wants a member of an input repeated as a header. */
export const headerKeyword = 'x-mcp-header'

/** A member that is reached by name alone and wants to be repeated: as what it says, which may be no header at all. */
export interface HeaderMember {
  readonly header: Json | undefined
  readonly path: readonly string[]
  readonly type: Json | undefined
}

export function headerMembers(schema: Json | undefined, path: readonly string[] = []): readonly HeaderMember[] {
  const properties = isMembers(schema) ? schema['properties'] : undefined
  return Object.entries(isMembers(properties) ? properties : {}).flatMap(([name, member]) => {
    if (!isMembers(member)) return []
    const here = [...path, name]
    const own = { header: member[headerKeyword], path: here, type: member['type'] }
    const inner = headerMembers(member as Json, here)
    return headerKeyword in member ? [own, ...inner] : inner
  })
}

export const isMembers = (value: Json | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What can be the name of a header. */
export const isHeaderName = (text: unknown): text is string =>
  typeof text === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)

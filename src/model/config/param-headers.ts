import type { Json } from '../../base/canonical.ts'
import { isJsonObject } from '../../base/object.ts'

/** The keyword of MCP by which a schema wants a member of an input repeated as a header. */
export const headerKeyword = 'x-mcp-header'

/** A member that is reached by name alone and wants to be repeated: as what it says, which may be no header at all. */
export interface HeaderMember {
  readonly header: Json | undefined
  readonly path: readonly string[]
  readonly type: Json | undefined
}

export function headerMembers(schema: Json | undefined, path: readonly string[] = []): readonly HeaderMember[] {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, member]) => {
    if (!isJsonObject(member)) return []
    const here = [...path, name]
    const own = { header: member[headerKeyword], path: here, type: member['type'] }
    const inner = headerMembers(member as Json, here)
    return headerKeyword in member ? [own, ...inner] : inner
  })
}

/** What can be the name of a header. */
export const isHeaderName = (text: unknown): text is string =>
  typeof text === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)

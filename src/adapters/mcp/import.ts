import type { Json } from '../../base/canonical.ts'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { headerKeyword, headerMembers, isHeaderName } from '../../model/config/param-headers.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { capabilityId, inScopes, line } from '../../model/text.ts'
import { schemaFault } from '../../policy/schema/schema.ts'
import { proposeContext } from './context.ts'
import { definitionOf, repeatsSecret, said, type ToolDefinition } from './tool-drift.ts'

export interface ImportOptions {
  /** Names of tools, or their beginnings with a `*`. Without them all are taken. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  /** Of the tools that only read, as a person says. */
  readonly reads?: readonly string[]
}

export type Offered = McpUpstream['capabilities'][number]
type Descriptor = Offered['descriptor']

/** What could be offered of a server, for people to read, change and keep: nothing is offered before that. */
export function importTools(
  name: string,
  server: McpUpstream['server'],
  tools: readonly ToolDefinition[],
  { include = ['*'], exclude = [], reads = [] }: ImportOptions = {},
): { readonly upstream: McpUpstream; readonly skipped: readonly { readonly tool: string; readonly reason: string }[] } {
  const wanted = tools.filter((tool) => inScopes(include, tool.name) && !inScopes(exclude, tool.name))
  const ids = Map.groupBy(tools, (tool) => idOf(name, tool))
  const capabilities: Offered[] = []
  const skipped: { tool: string; reason: string }[] = []
  for (const tool of wanted) {
    const collides = (ids.get(idOf(name, tool))?.length ?? 0) > 1
    const made = collides
      ? `another tool has the id ${quote(idOf(name, tool))} too`
      : offeredAs(name, tool, inScopes(reads, tool.name))
    if (typeof made === 'string') skipped.push({ tool: tool.name, reason: made })
    else capabilities.push(made)
  }
  return { upstream: { adapter: 'mcp', name, server, capabilities }, skipped }
}

const idOf = (name: string, { name: tool }: ToolDefinition): string =>
  `mcp.${name}.${tool.replace(/[^A-Za-z0-9_.:-]/gu, '_')}`

/** The capability that stands for a tool, or why there can be none. */
export function offeredAs(name: string, tool: ToolDefinition, isRead = false): Offered | string {
  const id = idOf(name, tool)
  if (!line.safeParse(tool.name).success || !capabilityId.safeParse(id).success)
    return 'its name is empty, too long, or holds control characters'
  if (tool[repeatsSecret] === true) return 'it repeats a secret that its server was given'
  const definition = definitionOf(tool)
  if (definition === undefined) return 'its definition is too large, or is not JSON that can be hashed'
  if (memberOf(tool.execution, 'taskSupport') === 'required') return 'it works as a task only'
  const input = schemaOf(tool.inputSchema)
  if (typeof input === 'string') return `its input schema cannot be used: ${input}`
  if (input['type'] !== 'object') return 'its input schema is not that of an object'
  if (!hasUsableHeaders(tool.inputSchema)) return 'its `x-mcp-header` is no header that could be sent'
  const output = tool.outputSchema === undefined ? undefined : schemaOf(tool.outputSchema)
  if (typeof output === 'string') return `its output schema cannot be used: ${output}`
  const title = said(tool.title, 256)
  const context = proposeContext(id, input)
  const descriptor: Descriptor = {
    id,
    version: '1.0.0',
    description: said(tool.description, limits.toolDescriptionCharsMax),
    ...(title !== '' && { name: title }),
    input_schema: input as Descriptor['input_schema'] & object,
    output_schema: wrapped(output, id) as Descriptor['output_schema'] & object,
    ...proposed(isRead && claimOf(tool) !== 'changes'),
    ...(context && { metadata: { context } }),
  }
  return { tool: tool.name, definition, annotations: tool.annotations ?? {}, descriptor }
}

/** Proposed for people to change. A server's word makes nothing less strict: only a person knows what has no effect. */
export const proposed = (isRead: boolean): Pick<Descriptor, 'risk' | 'policy' | 'side_effects'> =>
  isRead
    ? { risk: 'low', policy: { auth_required: true }, side_effects: [] }
    : { risk: 'high', policy: { auth_required: true, approval_required: true }, side_effects: ['mcp.call'] }

/** What the server says that a tool does: for people to know, and to be stricter by. */
export function claimOf({ annotations }: ToolDefinition): 'reads' | 'changes' | undefined {
  const reads = memberOf(annotations, 'readOnlyHint')
  if (reads === false || memberOf(annotations, 'destructiveHint') === true) return 'changes'
  return reads === true ? 'reads' : undefined
}

/** The schema, or why it cannot be used. Most servers name an older draft and write what means the same in the present one. */
function schemaOf(schema: Json | undefined): JsonObject | string {
  if (!isJsonObject(schema)) return 'it is no object'
  const { $schema: _, ...rest } = schema
  return schemaFault(rest) ?? rest
}

/** The schema of a whole answer. What is inside has an id of its own, so that its references still lead into it. */
const wrapped = (structured: JsonObject | undefined, id: string): JsonObject => ({
  type: 'object',
  required: structured ? ['content', 'structuredContent'] : ['content'],
  properties: {
    content: { type: 'array' },
    ...(structured && { structuredContent: { $id: `urn:ambit:${id}`, ...structured } as Json }),
  },
})

const memberOf = (value: Json | undefined, member: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, member) ? value[member] : undefined

/** True if each wanted header can be sent: named rightly and once, at a plain member that is reached by name alone. */
function hasUsableHeaders(schema: Json | undefined): boolean {
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

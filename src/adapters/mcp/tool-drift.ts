import { canonical, type Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'

/** A tool as its server describes it: nothing but the name has been looked at. */
export type ToolDefinition = { readonly name: string } & { readonly [member: string]: Json | undefined }

/** Marks a tool of which nothing but the name can be shown. A server that sets it hides its own tool. */
export const repeatsSecret = 'ambit/repeats_secret'

/** The tools of a page of `tools/list`. What has no name is none. */
export const readTools = (page: unknown): readonly ToolDefinition[] => {
  const { tools } = (page ?? {}) as { tools?: unknown }
  return Array.isArray(tools) ? tools.filter((tool) => typeof tool?.name === 'string') : []
}

/** The digest of all that a server says of a tool; undefined if it cannot be hashed, or is too large to look at. */
export function definitionOf(tool: ToolDefinition): string | undefined {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  try {
    const text = canonical({ name, title, description, inputSchema, outputSchema, annotations })
    return text.length > limits.mcpDefinitionBytesMax ? undefined : `sha256:${sha256(text)}`
  } catch {
    return undefined
  }
}

/** What became of the tools of an upstream since they were accepted. */
export interface Drift {
  readonly changed: readonly string[]
  readonly gone: readonly string[]
  /** Tools that are not accepted yet: they are not offered. */
  readonly added: readonly string[]
}

export function driftOf({ capabilities }: McpUpstream, tools: readonly ToolDefinition[]): Drift {
  // A name that is there twice has no digest: which of the two would be called is unknown.
  const now = new Map<string, string | undefined>()
  for (const tool of tools) now.set(tool.name, now.has(tool.name) ? undefined : definitionOf(tool))
  const namesOf = (found: McpUpstream['capabilities']): string[] => found.map(({ tool }) => tool)
  const known = new Set(namesOf(capabilities))
  return {
    // A tool may stand there twice, as two capabilities: each is held to the definition that was accepted for it.
    changed: namesOf(capabilities.filter(({ tool, definition }) => now.has(tool) && now.get(tool) !== definition)),
    gone: namesOf(capabilities.filter(({ tool }) => !now.has(tool))),
    added: [...now.keys()].filter((tool) => !known.has(tool)),
  }
}

/** Foreign words as one line of visible characters. */
export function said(text: unknown, charsMax: number): string {
  if (typeof text !== 'string') return ''
  const visible = text.replace(/\s+/gu, ' ').replace(/\p{C}/gu, '').trim()
  if (visible.length <= charsMax) return visible
  return `${visible.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

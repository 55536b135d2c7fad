import { canonical, type Json } from '../../base/canonical.ts'
import { problem } from '../../base/failure.ts'
import { escapedKey } from '../../base/pointer.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { presentOf } from './accept.ts'
import type { ToolDefinition } from './definition.ts'
import type { Offered } from './import.ts'

/** One place at which a tool is not what was accepted: what stands in the file, and what the server says now. */
export interface Difference {
  readonly at: string
  readonly before?: Json
  readonly now?: Json
}

/** What became of a tool, for somebody to look at: accepting it names the digest. All of it is the server's word. */
export interface Change {
  readonly tool: string
  readonly definition?: string
  readonly differences: readonly Difference[]
  /** Why it cannot be accepted. */
  readonly problem?: string
}

export function changeOf(upstream: McpUpstream, tools: readonly ToolDefinition[], tool: string): Change {
  try {
    const now = presentOf(upstream, tools, tool)
    const before = upstream.capabilities.find((one) => one.tool === tool)
    const { annotations, ...rest } = now
    const isKept = before?.annotations !== undefined
    const differences = differencesOf(before && shownOf(before), shownOf(isKept ? now : rest))
    // A file may be older than that they are kept: then nobody knows which of them changed.
    const claims = isKept || annotations === undefined ? [] : [{ at: '/annotations', now: annotations }]
    return { tool, definition: now.definition, differences: [...differences, ...claims] }
  } catch (error) {
    return { tool, differences: [], problem: problem(error).detail }
  }
}

function shownOf({ annotations, descriptor }: Offered): Json {
  const { name: title = '', description, input_schema: input = {}, output_schema: output = {}, metadata } = descriptor
  const claims = Object.keys(annotations ?? {}).length === 0 ? {} : { annotations }
  return { ...claims, title, description, input, output, context: metadata?.context?.fields ?? {} } as Json
}

export function differencesOf(before: Json | undefined, now: Json): readonly Difference[] {
  const [old, present] = [new Map(leavesOf(before ?? {}, '')), new Map(leavesOf(now, ''))]
  const places = [...new Set([...old.keys(), ...present.keys()])].toSorted()
  return places.flatMap((at) => {
    const [was, is] = [old.get(at), present.get(at)]
    if (was !== undefined && is !== undefined && canonical(was) === canonical(is)) return []
    return [{ at, ...(was !== undefined && { before: was }), ...(is !== undefined && { now: is }) }]
  })
}

/** The places of a value that hold no places themselves. A list of plain values is one. */
function leavesOf(value: Json, at: string): readonly (readonly [string, Json])[] {
  const inner = Object.entries(isBranch(value) ? value : {})
  if (inner.length === 0) return [[at, value]]
  return inner.flatMap(([key, one]) => leavesOf(one as Json, `${at}/${escapedKey(key)}`))
}

const isBranch = (value: Json): value is Json & object =>
  Array.isArray(value) ? value.some(isBranch) : typeof value === 'object' && value !== null

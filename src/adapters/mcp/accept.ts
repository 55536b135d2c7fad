import { canonical, type Json } from '../../base/canonical.ts'
import { Failure, problem, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { escapedKey } from '../../base/pointer.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { renewDescriptor } from '../merge.ts'
import { claimOf, type Offered, offeredAs, proposed } from './import.ts'
import type { ToolDefinition } from './tool-drift.ts'

type Descriptor = Offered['descriptor']

/** A tool, and the digest of the definition that a person has reviewed. */
export type Looked = Pick<Offered, 'tool' | 'definition'>

/**
 * The upstream with the present definition of some of its tools, and a new patch version of each. What is not any more
 * as it was looked at is refused. The policy that people wrote stays; where the server says that it
 * changes something the risk may rise and effects may be added.
 */
export function acceptDrift(upstream: McpUpstream, tools: readonly ToolDefinition[], looked: readonly Looked[]) {
  const accepted = new Map<string, Offered>()
  for (const { tool, definition } of looked) {
    const now = presentOf(upstream, tools, tool)
    const data = { tool, definition: now.definition }
    const message = `the tool ${quote(tool)} is not what was looked at`
    if (now.definition !== definition)
      throw new Failure('capability.invalid', message, data, 'look again with `ambit capabilities drift`')
    accepted.set(tool, now)
  }
  const capabilities = upstream.capabilities.map((old) => {
    const now = accepted.get(old.tool)
    return now === undefined || now.definition === old.definition ? old : now
  })
  return { ...upstream, capabilities }
}

/** What would be offered of a tool from now on; otherwise why there can be nothing. */
export function presentOf(
  upstream: McpUpstream,
  tools: readonly ToolDefinition[],
  tool: string,
  isRead = false,
): Offered {
  const { name, capabilities } = upstream
  const found = tools.filter((one) => one.name === tool)
  const [only] = found
  const old = capabilities.find((one) => one.tool === tool)
  if (!old) throw new Failure('capability.not_found', `no capability stands for the tool ${quote(tool)}`, { tool })
  const gone = `the server has no tool ${quote(tool)} any more`
  if (!only) throw new Failure('capability.not_found', gone, { tool }, 'remove it from the file')
  const made = found.length > 1 ? 'the server has it twice' : offeredAs(name, only, isRead)
  if (typeof made !== 'string') {
    // Where the server says what it said before, what people wrote over it stays.
    const isSame = made.definition === old.definition
    if (isSame && !isRead) return { ...made, ...old }
    const { name: title, description, input_schema, output_schema, metadata } = old.descriptor
    const words = isSame ? defined({ name: title, description, input_schema, output_schema, metadata }) : {}
    return { ...made, descriptor: renewed(old.descriptor, { ...made.descriptor, ...words }, only, isRead) }
  }
  throw new Failure('capability.invalid', `the tool ${quote(tool)} cannot be offered: ${made}`, { tool })
}

/** Keeps what people wrote, unless the server says the tool changes something, or a person now says it only reads. */
function renewed(old: Descriptor, now: Descriptor, tool: ToolDefinition, isRead: boolean): Descriptor {
  if (claimOf(tool) === 'changes') return renewDescriptor(old, now)
  const { risk, side_effects, policy, ...words } = now
  const next = renewDescriptor(old, words)
  if (!isRead) return next
  const isUntouched = JSON.stringify(old.policy) === JSON.stringify(proposed(false).policy)
  return { ...next, side_effects: [], ...(isUntouched && defined({ risk, policy })) }
}

/** One place at which a tool is not what was accepted: what stands in the file, and what the server says now. */
export interface Difference {
  readonly at: string
  readonly before?: Json
  readonly now?: Json
}

/** How a tool changed, for a person to review: accepting it names the digest. All of it is the server's claim. */
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
    // An older file holds no annotations: which of them changed is unknown.
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

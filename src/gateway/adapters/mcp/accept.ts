import { Failure, quote } from '../../../base/failure.ts'
import type { McpUpstream } from '../../../model/upstream.ts'
import { higherRisk } from '../../../policy/risk.ts'
import type { ToolDefinition } from './definition.ts'
import { type Offered, offeredAs } from './import.ts'

type Descriptor = Offered['descriptor']

/** A tool, and the digest of the definition that somebody has looked at. */
export type Looked = Pick<Offered, 'tool' | 'definition'>

/**
 * The upstream with the present definition of some of its tools, and a new patch version of each. What is not any more
 * as it was looked at is refused. The policy that people wrote stays; the risk may rise and effects may be added.
 */
export function acceptDrift(
  upstream: McpUpstream,
  tools: readonly ToolDefinition[],
  looked: readonly Looked[],
): McpUpstream {
  const accepted = new Map(looked.map((one) => [one.tool, lookedAt(one, presentOf(upstream, tools, one.tool))]))
  const capabilities = upstream.capabilities.map((old) => {
    const now = accepted.get(old.tool)
    const isNew = now !== undefined && now.definition !== old.definition
    return isNew ? { ...now, descriptor: renewed(old.descriptor, now.descriptor) } : old
  })
  return { ...upstream, capabilities }
}

function lookedAt({ tool, definition }: Looked, now: Offered): Offered {
  if (now.definition === definition) return now
  throw new Failure(
    'capability.invalid',
    `the tool ${quote(tool)} is not what was looked at`,
    { tool, definition: now.definition },
    'look again with `ambit capabilities drift`',
  )
}

/** What would be offered of a tool now; otherwise why there can be nothing. */
export function presentOf(
  { name, capabilities }: McpUpstream,
  tools: readonly ToolDefinition[],
  tool: string,
): Offered {
  const found = tools.filter((one) => one.name === tool)
  const [only] = found
  if (!capabilities.some((one) => one.tool === tool))
    throw new Failure('capability.not_found', `no capability stands for the tool ${quote(tool)}`, { tool })
  if (!only)
    throw new Failure(
      'capability.not_found',
      `the server has no tool ${quote(tool)} any more`,
      { tool },
      'remove it from the file',
    )
  const made = found.length > 1 ? 'the server has it twice' : offeredAs(name, only)
  if (typeof made !== 'string') return made
  throw new Failure('capability.invalid', `the tool ${quote(tool)} cannot be offered: ${made}`, { tool })
}

function renewed(old: Descriptor, now: Descriptor): Descriptor {
  const { name: _, output_schema: __, ...kept } = old
  const effects = [...new Set([...(old.side_effects ?? []), ...(now.side_effects ?? [])])]
  const [major, minor, patch] = old.version.split(/[-+]/)[0]?.split('.').map(Number) ?? []
  return {
    ...kept,
    version: `${major}.${minor}.${(patch ?? 0) + 1}`,
    description: now.description,
    ...(now.name !== undefined && { name: now.name }),
    ...(now.input_schema && { input_schema: now.input_schema }),
    ...(now.output_schema && { output_schema: now.output_schema }),
    ...(effects.length > 0 && { side_effects: effects }),
    risk: higherRisk(old.risk ?? 'medium', now.risk),
  }
}

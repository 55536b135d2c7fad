import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { McpUpstream } from '../../model/config/upstream.ts'
import { renewDescriptor } from '../merge.ts'
import type { ToolDefinition } from './definition.ts'
import { claimOf, type Offered, offeredAs, proposed } from './import.ts'

type Descriptor = Offered['descriptor']

/** A tool, and the digest of the definition that somebody has looked at. */
export type Looked = Pick<Offered, 'tool' | 'definition'>

/**
 * The upstream with the present definition of some of its tools, and a new patch version of each. What is not any more
 * as it was looked at is refused. The policy that people wrote stays; where the server says that it
 * changes something the risk may rise and effects may be added.
 */
export function acceptDrift(
  upstream: McpUpstream,
  tools: readonly ToolDefinition[],
  looked: readonly Looked[],
): McpUpstream {
  const accepted = new Map(looked.map((one) => [one.tool, lookedAt(one, presentOf(upstream, tools, one.tool))]))
  const capabilities = upstream.capabilities.map((old) => {
    const now = accepted.get(old.tool)
    return now === undefined || now.definition === old.definition ? old : now
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

/** What would be offered of a tool from now on; otherwise why there can be nothing. */
export function presentOf(
  { name, capabilities }: McpUpstream,
  tools: readonly ToolDefinition[],
  tool: string,
  isRead = false,
): Offered {
  const found = tools.filter((one) => one.name === tool)
  const [only] = found
  const old = capabilities.find((one) => one.tool === tool)
  if (!old) throw new Failure('capability.not_found', `no capability stands for the tool ${quote(tool)}`, { tool })
  if (!only)
    throw new Failure(
      'capability.not_found',
      `the server has no tool ${quote(tool)} any more`,
      { tool },
      'remove it from the file',
    )
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

/** What people wrote stays, unless the server says that it changes something, or somebody says now that it only reads. */
function renewed(old: Descriptor, now: Descriptor, tool: ToolDefinition, isRead: boolean): Descriptor {
  if (claimOf(tool) === 'changes') return renewDescriptor(old, now)
  const { risk, side_effects, policy, ...words } = now
  const next = renewDescriptor(old, words)
  if (!isRead) return next
  const isUntouched = JSON.stringify(old.policy) === JSON.stringify(proposed(false).policy)
  return { ...next, side_effects: [], ...(isUntouched && defined({ risk, policy })) }
}

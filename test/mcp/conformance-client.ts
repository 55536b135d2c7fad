// What the public conformance suite of MCP starts as a client: imports what a server offers and calls all of it, with
// our adapter. Its last argument is the address of the server.

import { openEgress } from '../../src/adapters/egress/egress.ts'
import { discoverTools } from '../../src/adapters/mcp/discover.ts'
import { importTools } from '../../src/adapters/mcp/import.ts'
import { openMcp } from '../../src/adapters/mcp/open.ts'
import type { ToolDefinition } from '../../src/adapters/mcp/tool-drift.ts'
import type { Json } from '../../src/base/canonical.ts'
import { Failure } from '../../src/base/failure.ts'
import type { CallContext } from '../../src/gateway/capability.ts'

interface Wish {
  readonly name: string
  readonly arguments: Readonly<Record<string, Json>>
}

const url = process.argv.at(-1) ?? ''
const deps = {
  egress: openEgress({ allow: [new URL(url).origin] }),
  secret: async () => {
    throw new Failure('secret.not_found', 'there are no secrets here')
  },
  clock: { now: () => Date.now() },
  folder: '.',
  notice: (text: string) => void process.stderr.write(`${text}\n`),
}

const { protocol, tools } = await discoverTools({ name: 'given', server: { url } }, deps)
const { upstream, skipped } = importTools('suite', { url }, tools)
process.stdout.write(
  `${protocol}: ${tools.length} tools, ${skipped.map(({ tool }) => tool).join(' ') || 'none'} skipped\n`,
)
const { capabilities, close } = openMcp(upstream, deps)
for (const { name, arguments: input } of wishes(tools)) {
  const at = upstream.capabilities.findIndex(({ tool }) => tool === name)
  const answer = await Promise.resolve(capabilities[at]?.handler(input, contextOf(name))).catch(String)
  process.stdout.write(`${name}: ${JSON.stringify(answer)}\n`)
}
await close()

/** What the scenario says should be called, or everything with arguments that fit. */
function wishes(offered: readonly ToolDefinition[]): readonly Wish[] {
  const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as { toolCalls?: readonly Wish[] }
  return context.toolCalls ?? offered.map((tool) => ({ name: tool.name, arguments: fitting(tool, offered) }))
}

function fitting({ inputSchema }: ToolDefinition, offered: readonly ToolDefinition[]): Record<string, Json> {
  const { properties = {} } = inputSchema as { properties?: Record<string, { type?: string }> }
  const rich = offered.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema ?? {}
  const samples: Readonly<Record<string, Json>> = { string: 'a', number: 1, integer: 1, boolean: true, object: rich }
  return Object.fromEntries(Object.entries(properties).map(([name, { type = '' }]) => [name, samples[type] ?? null]))
}

function contextOf(name: string): CallContext {
  return {
    invocationId: `inv_${name}`,
    idempotencyKey: `key_${name}`,
    correlation: { correlation_id: 'conformance' },
    subject: { id: 'suite', type: 'agent', verified: true },
    actor: null,
    purpose: null,
    context: {},
    signal: new AbortController().signal,
    secret: deps.secret,
    spent: () => undefined,
    emit: () => undefined,
  }
}
